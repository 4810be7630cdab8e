#include "memory/interpose/program_memory.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <limits>

#include "memory/allocators/allocators.h"
#include "memory/session/session.h"
#include "memory/trace.h"

namespace skyline {
namespace {

// Requests for zeros above this stay with the C library: untouched pages take no memory.
constexpr std::size_t kMostZeroedBytes = std::size_t{256} << 20;
constexpr std::size_t kLeastSpanBytes = std::size_t{1} << 30;
// After so many marks without a plan, warm-up keeps free pages: the program does not repeat itself.
constexpr std::uint64_t kPatience = 16;
constexpr std::uint64_t kOtherMarks = 16;

// Under `ulimit -v`, addresses are not free: the program keeps three quarters.
std::size_t permitted_span_bytes(std::size_t most) {
  rlimit limit = {};
  getrlimit(RLIMIT_AS, &limit);
  return limit.rlim_cur == RLIM_INFINITY ? most : std::min<std::size_t>(most, limit.rlim_cur / 4);
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

SessionOptions session_options() {
  SessionOptions options{.matching = Matching::kBySize,
                         .background = true,
                         .first_in_background = true,
                         .eager_plans = 4};
  options.plan.time_limit_seconds = 2;
  return options;
}

}  // namespace

constinit thread_local bool ProgramMemory::inside_ = false;

struct ProgramMemory::Entry {
  explicit Entry(ProgramMemory& entered) : memory(entered) { memory.lock(); }
  ~Entry() {
    memory.unlock();
    errno = error;
  }
  Entry(const Entry&) = delete;
  Entry& operator=(const Entry&) = delete;
  ProgramMemory& memory;
  int error = errno;  // calls that succeed leave it alone
};

ProgramMemory::ProgramMemory(RunOptions options, std::size_t span_bytes)
    : options_(std::move(options)), most_span_bytes_(span_bytes), process_(getpid()) {}

void ProgramMemory::lock() noexcept {
  pthread_mutex_lock(&mutex_);
  inside_ = true;
}

void ProgramMemory::unlock() noexcept {
  inside_ = false;
  pthread_mutex_unlock(&mutex_);
}

void ProgramMemory::before_fork() noexcept {
  lock();
  if (events_ != nullptr) std::fflush(events_.get());  // the child would write its copy, too
}

void ProgramMemory::after_fork(bool in_child) noexcept {
  if (in_child) state_ = State::kClosed;
  unlock();
}

// --- blocks ---

std::size_t ProgramMemory::count_for_thread(std::size_t bytes) noexcept {
  static constinit std::atomic<std::size_t> threads = 0;
  static constinit thread_local std::size_t place = kMostThreads;
  if (place == kMostThreads) place = std::min(threads.fetch_add(1), kMostThreads - 1);
  thread_bytes_[place].fetch_add(bytes, std::memory_order_relaxed);
  return place;
}

// True when another thread leads from now on.
bool ProgramMemory::choose_leader() noexcept {
  const auto most =
      std::max_element(thread_bytes_.begin(), thread_bytes_.end() - 1,
                       [](const auto& a, const auto& b) { return a.load() < b.load(); });
  const auto leader = static_cast<std::size_t>(most - thread_bytes_.begin());
  return leader_.exchange(leader) != leader;
}

void* ProgramMemory::request(std::size_t bytes, bool zeroed) noexcept {
  if (inside_) return nullptr;
  const std::size_t thread = count_for_thread(bytes);
  requests_.fetch_add(1, std::memory_order_relaxed);
  const State state = state_.load(std::memory_order_relaxed);
  if (state == State::kClosed) return nullptr;
  const bool leads = thread == leader_.load(std::memory_order_relaxed);
  if (!leads && options_.record.empty()) {
    other_threads_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  const Entry entry(*this);
  try {
    return serve(bytes, zeroed, leads);
  } catch (const std::exception&) {
    ++totals_.refused;
    return nullptr;
  }
}

void* ProgramMemory::serve(std::size_t bytes, bool zeroed, bool leads) {
  if (state_ == State::kWatching && options_.at_once()) start();
  const bool ends_step = leads && options_.period && !marked_ && finder_.add(bytes);
  if (found_ && !finder_.known()) {
    stop_steps({});
    found_ = false;
    marks_ = 0;
  }
  void* address = nullptr;
  if (zeroed && (!steps_ || bytes > kMostZeroedBytes)) {
    zeroed_.fetch_add(1, std::memory_order_relaxed);
  } else if (state_ == State::kServing) {
    address = take(bytes, leads);
    if (zeroed) std::memset(address, 0, bytes);
  }
  if (ends_step) {
    found_ = true;
    step_is_over();
  }
  return address;
}

void* ProgramMemory::take(std::size_t bytes, bool leads) {
  if (leads && holds()) {
    if (after_mark_++ == *announced_at_) allocator_->end_step();
  } else if (leads && steps_) {
    if (live_bytes_ < fewest_bytes_) {
      fewest_bytes_ = live_bytes_;
      fewest_at_ = after_mark_;
    }
    if (after_mark_++ == cut_) begin_step();
  }
  const Extent extent = allocator_->acquire(bytes, {});
  try {
    live_.insert_or_assign(extent.address, Live{extent, ++ids_});
  } catch (...) {
    allocator_->release(extent);
    throw;
  }
  live_bytes_ += bytes;
  if (events_ != nullptr) {
    fmt::print(events_.get(), "{}a,{},{}\n{}", leads ? "" : "i,,\n", ids_, bytes,
               leads ? "" : "r,,\n");
  }
  return extent.address;
}

std::size_t ProgramMemory::bytes_of(const void* address) noexcept {
  const Entry entry(*this);
  const auto found = live_.find(address);
  if (found == live_.end()) std::abort();
  return found->second.extent.bytes;
}

void ProgramMemory::release(void* address) noexcept {
  if (state_ == State::kClosed) return;  // the bytes stay
  const Entry entry(*this);
  if (state_ == State::kClosed) return;
  const auto found = live_.find(address);
  if (found == live_.end()) std::abort();
  const Live block = found->second;
  live_.erase(found);
  live_bytes_ -= block.extent.bytes;
  if (events_ != nullptr) fmt::print(events_.get(), "f,{},\n", block.id);
  allocator_->release(block.extent);
  if (warms_up()) allocator_->release_cached();
}

bool ProgramMemory::warms_up() const {
  if (session_ == nullptr) return events_ != nullptr;
  return session_->state() == Session::State::kWarmUp && marks_ < kPatience;
}

// --- steps ---

// Throws OutOfMemory when the system has no addresses; the C library goes on then.
void ProgramMemory::start() {
  state_ = State::kClosed;
  for (std::size_t bytes = permitted_span_bytes(most_span_bytes_); bytes >= kLeastSpanBytes;
       bytes /= 2) {
    span_.emplace(bytes);
    if (span_->bytes() > 0) break;
  }
  if (!span_ || span_->bytes() == 0) return;
  device_.emplace(*span_);
  if (options_.record.empty() && options_.allocator == kPlannedAllocator) {
    auto session = std::make_unique<Session>(*device_, session_options());
    session_ = session.get();
    allocator_ = std::move(session);
  } else {
    allocator_ = make_allocator(
        options_.record.empty() ? options_.allocator : std::string(kWarmUpAllocator), *device_);
  }
  if (!options_.record.empty()) {
    events_.reset(std::fopen(options_.record.c_str(), "we"));  // no program that is started has it
    if (events_ != nullptr) fmt::print(events_.get(), "event,id,bytes\n");
  }
  span_begin_ = reinterpret_cast<std::uintptr_t>(span_->base());
  span_bytes_ = span_->bytes();
  state_ = State::kServing;
  if (session_ != nullptr && !options_.plan.empty()) adopt_plan();
}

// Blocks are called by their number after the mark, so the first one is the cut.
void ProgramMemory::adopt_plan() {
  try {
    std::ifstream file(options_.plan);
    std::string line;
    std::getline(file, line);
    Trace trace;
    std::uint64_t id = 0;
    TraceBlock block;
    char comma = 0;
    while (file >> id >> comma >> block.lower >> comma >> block.upper >> comma >> block.bytes) {
      if (trace.blocks.empty()) cut_ = id;
      trace.blocks.push_back(block);
    }
    session_->adopt(trace);
    adopted_cut_ = cut_;
  } catch (const std::exception& error) {
    totals_.problem = error.what();
  }
}

void ProgramMemory::begin() noexcept {
  if (inside_) return;
  const Entry entry(*this);
  if (state_ != State::kWatching || options_.before > 0) return;
  try {
    marked_ = true;
    start();
    if (adopted_cut_) mark();
  } catch (const std::exception& error) {
    totals_.problem = error.what();
  }
}

void ProgramMemory::end_step(std::uint64_t kind) noexcept {
  if (inside_) return;
  const Entry entry(*this);
  if (state_ == State::kClosed) return;
  try {
    if (!std::exchange(marked_, true) && found_) {
      found_ = false;
      marks_ = 0;
    }
    if (leading_kind(kind)) step_is_over();
  } catch (const std::exception& error) {
    totals_.problem = error.what();
  }
}

void ProgramMemory::announce_step() noexcept {
  if (inside_) return;
  const Entry entry(*this);
  if (state_ != State::kServing || announced_) return;
  if (holds()) {
    allocator_->release_cached();
    after_mark_ = *announced_at_;
  } else if (announced_at_) {  // sooner than in the steps before
    cut_ -= *announced_at_ - after_mark_;
    announced_at_ = after_mark_;
  }
  announced_ = after_mark_;
  if (announced_at_) allocator_->end_step();  // here, whether or not it was held
}

// True between the last request of a step and the announcement of the next one.
bool ProgramMemory::holds() const {
  return steps_ && announced_at_ && !announced_ && after_mark_ >= *announced_at_;
}

bool ProgramMemory::leading_kind(std::uint64_t kind) {
  if (kind < kinds_ && kind != kind_ && ++other_marks_ < kOtherMarks) return false;
  if (kind != kind_) marks_ = 0;
  kinds_ = std::max(kinds_, kind + 1);
  kind_ = kind;
  other_marks_ = 0;
  return true;
}

void ProgramMemory::step_is_over() {
  ++totals_.steps;
  measure();
  if (state_ == State::kWatching) {
    if (totals_.steps <= options_.before) return;
    if (options_.before > 0) malloc_trim(0);
    start();
  }
  if (state_ == State::kServing) mark();
}

void ProgramMemory::mark() {
  ++marks_;
  steps_ = totals_.problem.empty();
  if (marks_ <= 2 && marked_ && choose_leader()) marks_ = 1;
  if (adopted_cut_ && marked_) {
    cut_ = *adopted_cut_;
  } else if (marks_ == 1) {
    cut_ = 0;  // a guess
  } else if (marks_ == 2 && fewest_at_ != 0) {
    cut_ = fewest_at_;
    allocator_->abandon_step();
  }
  if (marks_ == 1) {
    fewest_bytes_ = std::numeric_limits<std::uint64_t>::max();
    allocator_->abandon_step();
  }
  note_announcement();
  announced_.reset();
  after_mark_ = 0;
}

// Takes over what the step that is over showed.
void ProgramMemory::note_announcement() {
  if (marks_ == 1) return;
  if (!announced_ || *announced_ > cut_) announces_ = false;
  announced_at_ = announces_ ? announced_ : std::nullopt;
}

void ProgramMemory::begin_step() {
  try {
    allocator_->end_step();
    allocator_->begin_step(0);
    if (events_ != nullptr) fmt::print(events_.get(), "s,,\n");
  } catch (const std::exception& error) {  // of the planner
    stop_steps(error.what());
  }
}

void ProgramMemory::stop_steps(std::string problem) {
  steps_ = false;
  if (!problem.empty()) totals_.problem = std::move(problem);
  if (allocator_ != nullptr) allocator_->abandon_step();
}

// --- what is reported ---

void ProgramMemory::measure() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  const Usage now{std::chrono::steady_clock::now(), seconds_of(used.ru_stime),
                  static_cast<std::uint64_t>(used.ru_minflt + used.ru_majflt)};
  Server server = Server::kLibrary;
  if (state_ == State::kServing) {
    const bool planned = session_ == nullptr || session_->state() == Session::State::kPlanned;
    server = planned ? Server::kPlan : Server::kWarmUp;
    totals_.served[static_cast<std::size_t>(server)].held_bytes =
        session_ != nullptr && planned
            ? session_->session_statistics().peak_reserved_bytes_since_switch
            : allocator_->statistics().peak_reserved_bytes;
  }
  if (usage_ && server == server_) {
    ServedSteps& sums = totals_.served[static_cast<std::size_t>(server)];
    ++sums.steps;
    sums.seconds += std::chrono::duration<double>(now.time - usage_->time).count();
    sums.system_seconds += now.system_seconds - usage_->system_seconds;
    sums.page_faults += now.page_faults - usage_->page_faults;
  }
  usage_ = now;
  server_ = server;
}

RunReport ProgramMemory::report() const {
  RunReport report = totals_;
  report.command = program_invocation_short_name;
  report.requests = requests_;
  report.other_threads = other_threads_;
  report.large_alignment = large_alignment_;
  report.zeroed = zeroed_;
  if (found_) report.period = finder_.period();
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  report.peak_resident_bytes = static_cast<std::uint64_t>(used.ru_maxrss) * 1024;
  if (session_ == nullptr) {
    if (allocator_ != nullptr) report.served.back().server = "allocator";
    return report;
  }
  const SessionStatistics figures = session_->session_statistics();
  report.planned_requests = figures.planned_requests;
  report.deviations = figures.deviations;
  report.plans = figures.replans;
  report.planning_seconds = figures.planning_seconds;
  if (session_->state() != Session::State::kPlanned) return report;
  report.planned_blocks = session_->trace().size();
  report.plan_bytes = session_->plan().peak;
  report.bound_bytes = session_->plan().lower_bound;
  return report;
}

void ProgramMemory::finish() noexcept {
  if (inside_ || getpid() != process_) return;
  const Entry entry(*this);
  try {
    write_files();
  } catch (const std::exception&) {
  }
  state_ = State::kClosed;
}

void ProgramMemory::write_files() const {
  if (events_ != nullptr) std::fflush(events_.get());
  if (session_ != nullptr && !options_.write_trace.empty()) {
    std::ofstream file(options_.write_trace);
    file << "id,lower,upper,size\n";
    std::uint64_t id = cut_;
    for (const TraceBlock& block : session_->trace().blocks) {
      file << fmt::format("{},{},{},{}\n", id++, block.lower, block.upper, block.bytes);
    }
  }
  if (options_.report.empty()) return;
  std::ofstream(options_.report) << report().json() << report().text();
}

}  // namespace skyline
