#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace skyline {

// One of cuDNN's engines with its knobs, and the workspace it needs for a convolution; or one of
// the CPU's, which has a name only.
struct EngineChoice {
  std::string name = {};                                     // "winograd"; empty for cuDNN's
  std::int64_t engine = 0;                                   // its global index
  std::vector<std::pair<std::int64_t, std::int64_t>> knobs;  // pairs of type and value
  bool finishes = false;                                     // computes bias and relu too
  std::size_t workspace_bytes = 0;
  double seconds = 0;  // as measured on the card; 0: not measured
  bool operator==(const EngineChoice&) const = default;
};

// The engine chosen for each convolution on the CPU or on one card: the part of a plan that the
// library decides. With it a step's workspaces are known without card, heuristics or measurements,
// and a run repeats the choices of an earlier one.
struct EngineChoices {
  std::string card;        // cuDNN's description of it, JSON; empty: the CPU, or no card asked yet
  std::int64_t cudnn = 0;  // the library's version, 91900; 0 until it is asked
  std::map<std::string, EngineChoice> by_problem;  // keys name op, extents and options
  // By the batch size of a step on the CPU: problems that direct kernels compute, because the
  // engines of the rule by shape would raise the step's peak. Each run finds them again.
  std::map<std::int64_t, std::set<std::string>> above_peak = {};
  // On a card: limits of problems whose first engine would raise a step's peak, and the room in the
  // peak beside products with large results, whose workspaces are then choices, too. Each run finds
  // them for problems that it chooses engines for.
  std::map<std::string, std::size_t> most_workspace_bytes = {};

  // "NVIDIA H200 (compute capability 9.0, 132 multiprocessors)", or "the CPU".
  std::string card_name() const;

  std::string to_json() const;
  // Throws std::runtime_error with the file (`where`) and the member that is missing or has the
  // wrong type. A card without engines is valid: the start of a plan. The CPU's choices have
  // "device": "cpu" in place of a card and of cuDNN's version, and names as engines.
  static EngineChoices from_json(const std::string& json, const std::string& where);
};

// The timed engines of one convolution, in the order in which they were found.
struct TimedEngines {
  std::string problem;  // its key, see EngineChoices
  struct Engine {
    EngineChoice choice;       // with its seconds, if it could be timed
    std::string failure = {};  // "[cudnnBackendExecute] CUDNN_STATUS_…", of one that cannot run
  };
  std::vector<Engine> engines;
  std::size_t chosen = 0;         // the index of the fastest
  std::size_t refused_bytes = 0;  // operands and workspace that the device refused: none was timed

  // One line an engine: "candidate: PROBLEM engine=44 knobs=2:1,3:0 finishes=false workspace=0
  // seconds=1.234e-05 chosen". Without seconds it says seconds=failed, with the reason at the end,
  // or seconds=not-timed. Another line says how much the device refused: "not timed: PROBLEM: …".
  std::string str() const;
  // That line's text; empty if nothing was refused.
  std::string refusal() const;
};

// Throws std::runtime_error that names both if `plan` was made for another card than `card`
// (cuDNN's description) or for another version of cuDNN.
void require_same_card(const EngineChoices& plan, const std::string& card, std::int64_t cudnn);

}  // namespace skyline
