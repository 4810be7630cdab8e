#pragma once

#include <cstdint>
#include <vector>

namespace skyline {

// Inputs that kernels found outside their range. A kernel cannot throw, so it notes row and value
// (note_wrong_value() in launch.h), and the host throws when it next reads from the device.
class WrongValues {
 public:
  // Throws the error that names the value: it is not in [0, range).
  using Raise = void (*)(std::int64_t row, std::int32_t value, std::int64_t range);

  WrongValues() = default;
  ~WrongValues();
  WrongValues(const WrongValues&) = delete;
  WrongValues& operator=(const WrongValues&) = delete;

  // Returns where kernels note such values: pinned memory, the same for the same arguments, valid
  // as long as this object. Throws CudaError.
  unsigned long long* place(Raise raise, std::int64_t range);
  // Raises the error of the first row that was noted, if one was, and forgets all. Requires that
  // nothing is running on the device.
  void check();

 private:
  struct Place {
    unsigned long long* noted;  // row and value, half of the bits each
    Raise raise;
    std::int64_t range;
  };
  std::vector<Place> places_;
};

}  // namespace skyline
