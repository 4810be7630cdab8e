// A program that is compiled for one kind of processor names the instructions that another one
// lacks, instead of dying of the first. The check runs before all other code of the program, so it
// may use no such instructions itself.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#if defined(__x86_64__) && defined(__SSE4_2__)
namespace {

[[gnu::target("general-regs-only")]] void require(int there, const char* instructions) {
  if (there != 0) return;
  const char* const parts[] = {"error: this program was built for processors with ", instructions,
                               ", which this one lacks; build it on this machine, or for any "
                               "processor with: cmake --preset portable\n"};
  for (const char* const part : parts) {
    if (write(STDERR_FILENO, part, std::strlen(part)) < 0) break;
  }
  _exit(EXIT_FAILURE);
}

[[gnu::constructor(101), gnu::target("general-regs-only")]] void check_processor() {
  __builtin_cpu_init();
#ifdef __SSE4_2__
  require(__builtin_cpu_supports("sse4.2"), "sse4.2");
#endif
#ifdef __AVX2__
  require(__builtin_cpu_supports("avx2"), "avx2");
#endif
#ifdef __FMA__
  require(__builtin_cpu_supports("fma"), "fma");
#endif
#ifdef __BMI2__
  require(__builtin_cpu_supports("bmi2"), "bmi2");
#endif
#ifdef __AVX512F__
  require(__builtin_cpu_supports("avx512f"), "avx512f");
#endif
#ifdef __AVX512BW__
  require(__builtin_cpu_supports("avx512bw"), "avx512bw");
#endif
#ifdef __AVX512DQ__
  require(__builtin_cpu_supports("avx512dq"), "avx512dq");
#endif
#ifdef __AVX512VL__
  require(__builtin_cpu_supports("avx512vl"), "avx512vl");
#endif
#ifdef __AVX512VBMI__
  require(__builtin_cpu_supports("avx512vbmi"), "avx512vbmi");
#endif
#ifdef __AVX512VNNI__
  require(__builtin_cpu_supports("avx512vnni"), "avx512vnni");
#endif
#ifdef __GFNI__
  require(__builtin_cpu_supports("gfni"), "gfni");
#endif
}

}  // namespace
#endif
