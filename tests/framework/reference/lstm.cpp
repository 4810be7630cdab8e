#include "tests/framework/reference/lstm.h"

#include <cmath>
#include <utility>

namespace skyline::reference {

LstmWord lstm_word(const LstmLayer& layer, const std::vector<double>& x, const LstmWord& before) {
  const auto units = static_cast<std::int64_t>(before.h.size());
  const auto sum = [&](std::int64_t gate, std::int64_t unit) {
    const std::int64_t row = gate * units + unit;
    double total = layer.bias_w[row] + layer.bias_u[row];
    for (std::size_t k = 0; k < x.size(); ++k) {
      total += layer.w.at(row, static_cast<std::int64_t>(k)) * x[k];
    }
    for (std::int64_t k = 0; k < units; ++k) {
      total += layer.u.at(row, k) * before.h[static_cast<std::size_t>(k)];
    }
    return total;
  };
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  LstmWord after;
  for (std::int64_t j = 0; j < units; ++j) {
    const double i = sigmoid(sum(0, j)), f = sigmoid(sum(1, j));
    const double g = std::tanh(sum(2, j)), o = sigmoid(sum(3, j));
    const double c = f * before.c[static_cast<std::size_t>(j)] + i * g;
    after.c.push_back(c);
    after.h.push_back(o * std::tanh(c));
  }
  return after;
}

LstmResult lstm(const LstmInput& input) {
  const auto sentences = static_cast<std::int64_t>(input.lengths.size());
  const std::int64_t units = input.h.shape[1];
  LstmResult result{HostTensor({input.x.shape[0], units}), HostTensor(input.h.shape),
                    HostTensor(input.c.shape)};
  for (std::int64_t k = 0; k < sentences; ++k) {
    const std::int64_t length = input.lengths[static_cast<std::size_t>(k)];
    std::vector<std::vector<double>> words;
    for (std::int64_t step = 0; step < length; ++step) {
      std::vector<double>& word = words.emplace_back();
      for (std::int64_t j = 0; j < input.x.shape[1]; ++j) {
        word.push_back(input.x.at(input.row(k, step), j));
      }
    }
    for (std::size_t layer = 0; layer < input.layers.size(); ++layer) {
      const std::int64_t state_row = static_cast<std::int64_t>(layer) * sentences + k;
      LstmWord state;
      for (std::int64_t j = 0; j < units; ++j) {
        state.h.push_back(input.h.at(state_row, j));
        state.c.push_back(input.c.at(state_row, j));
      }
      for (std::int64_t step = 0; step < length; ++step) {
        std::vector<double>& word = words[static_cast<std::size_t>(step)];
        state = lstm_word(input.layers[layer], word, state);
        word = state.h;
        const bool top = layer + 1 == input.layers.size();
        for (std::int64_t j = 0; j < units; ++j) {
          double& value = word[static_cast<std::size_t>(j)];
          if (top) result.y.at(input.row(k, step), j) = value;
          if (!top) value *= input.dropout(layer, input.row(k, step), j);
        }
      }
      for (std::int64_t j = 0; j < units; ++j) {
        result.h.at(state_row, j) = state.h[static_cast<std::size_t>(j)];
        result.c.at(state_row, j) = state.c[static_cast<std::size_t>(j)];
      }
    }
  }
  return result;
}

HostTensor concat_rows(const std::vector<HostTensor>& xs) {
  std::int64_t rows = 0;
  std::vector<double> values;
  for (const HostTensor& x : xs) {
    rows += x.shape[0];
    values.insert(values.end(), x.values.begin(), x.values.end());
  }
  return HostTensor({rows, xs.front().shape[1]}, std::move(values));
}

}  // namespace skyline::reference
