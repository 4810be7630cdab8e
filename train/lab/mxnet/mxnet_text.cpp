#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/mxnet/mxnet.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kMxnetPage;  // the note's figures

namespace {

constexpr std::string_view kMxnetSource =
    "MXNet 1.0 documentation, Optimizing Memory Consumption in Deep Learning";

std::vector<std::string> waits_of(const NoteLanes& note, const LanePlan& plan) {
  std::vector<std::string> waits;
  for (const LaneEvent& edge : plan.waits) {
    waits.push_back(fmt::format("{} waits for {}", note.graph.ops[edge.after].name,
                                note.graph.ops[edge.before].name));
  }
  return waits;
}

// A plan and its waits.
struct NotePlan {
  const LanePlan& plan;
  std::vector<std::string> edges;
};

Rows<NotePlan> rows(const NotePlan*) {
  return {{"", "the plan", [](auto& told) { return told.plan; }},
          {"edges", "its waits in words", &NotePlan::edges}};
}

std::string picture_text(const NotePicture& picture) {
  Table table("<value | bytes | region | <where | <in the box afterwards");
  for (const NoteValue& value : picture.values) {
    table.add_row({value.name, format_bytes(value.bytes), std::to_string(value.region), value.how,
                   value.box});
  }
  return fmt::format("{}: {} for values of {}\n{}\n\n{}\n", picture.title,
                     format_bytes(picture.plan.peak), format_bytes(picture.sum),
                     wrapped(picture.about, 80), table.str());
}

std::string lanes_text(const NoteLanes& note) {
  std::string text =
      fmt::format("{}\n{}\n\n{}\n", note.title, wrapped(note.about, 80), note.answer.text());
  for (const LanePlan& row : note.answer.plans) {
    const std::vector<std::string> waits = waits_of(note, row);
    text += fmt::format(
        "{}: {}\n", row.name,
        waits.empty() ? "no op waits for bytes" : fmt::format("{}", fmt::join(waits, "; ")));
  }
  return text + "\n";
}

constexpr const char* kStrategyColumns[] = {"none", "back-propagation", "in place", "sharing",
                                            "both", "forward only"};

std::string costs_text(const MxnetReproduction& reproduction) {
  Table table(
      "<network | none | back-prop. | in place | sharing | both | forward only | both saves");
  for (const NoteCosts& costs : reproduction.costs) {
    std::vector<std::string> cells = {costs.network};
    for (const char* strategy : kStrategyColumns) {
      cells.push_back(format_bytes(costs.planned(strategy).value_or(0)));
    }
    cells.push_back(percent(costs.saved(), 1));
    table.add_row(std::move(cells));
  }
  return fmt::format(
      "The cost of a training step with {} images or sentences, planned, without resident\n"
      "bytes; every convolution asks for {} of workspace\n\n{}"
      "both saves: of none; the note says that training takes roughly half\n"
      "back-prop.: as frameworks without a backward graph, which hold every output and\n"
      "its gradient from forward to the end of the layer's backward\n",
      reproduction.costs.front().batch_size, format_bytes(reproduction.workspace_bytes),
      table.str());
}

}  // namespace

std::string mxnet_text(const MxnetReproduction& reproduction) {
  std::string text = "The MXNet note, Optimizing Memory Consumption in Deep Learning\n\n";
  for (const NotePicture& picture : reproduction.pictures) text += picture_text(picture);
  for (const NoteLanes& note : reproduction.lanes) text += lanes_text(note);
  return text + costs_text(reproduction);
}

Rows<NoteValue> rows(const NoteValue*) {
  return {{"value", "its name, and that of the op that writes it", &NoteValue::name},
          {"bytes", kBytes, "of the value", &NoteValue::bytes},
          {"region", kNumber, "in which it lies, counted from 1", &NoteValue::region},
          {"how", "new, over a value, or where one was", &NoteValue::how},
          {"box", "the free regions once the op is done", &NoteValue::box}};
}

Rows<NotePicture> rows(const NotePicture*) {
  return {{"picture", "of the note", &NotePicture::title},
          {"about", "what it shows", &NotePicture::about},
          {"peak", kBytes, "of the plan", [](auto& picture) { return picture.plan.peak; }},
          {"sum", kBytes, "of all values", &NotePicture::sum},
          {"values", "one object a value", &NotePicture::values}};
}

Rows<NoteLanes> rows(const NoteLanes*) {
  return {
      {"picture", "of the note", &NoteLanes::title},
      {"about", "what it shows", &NoteLanes::about},
      {"", "the answer", &NoteLanes::answer},
      {"plans", "for one lane, for the lanes, by path colours, and safe for any", [](auto& note) {
         std::vector<NotePlan> plans;
         for (const LanePlan& row : note.answer.plans) {
           plans.push_back({row, waits_of(note, row)});
         }
         return plans;
       }}};
}

Rows<NoteCosts> rows(const NoteCosts*) {
  return {{"network", "the network", &NoteCosts::network},
          {"batch_size", kCount, "images or sentences", &NoteCosts::batch_size},
          {"strategies", "the step under each", &NoteCosts::strategies},
          {"saved", kShare, "of none by both", &NoteCosts::saved}};
}

Rows<MxnetReproduction> rows(const MxnetReproduction*) {
  return {
      {"paper", "mxnet", [](auto&) { return "mxnet"; }},
      {"source", "the note", [](auto&) { return kMxnetSource; }},
      {"workspace", kBytes, "that each convolution asks for", &MxnetReproduction::workspace_bytes},
      {"pictures", "small steps, planned with the box of free regions",
       &MxnetReproduction::pictures},
      {"lanes", "steps whose ops may run side by side", &MxnetReproduction::lanes},
      {"costs", "training steps under the note's strategies", &MxnetReproduction::costs}};
}

std::string mxnet_page(const MxnetReproduction& reproduction) {
  nlohmann::ordered_json data = to_json(reproduction);
  for (std::size_t k = 0; k < reproduction.pictures.size(); ++k) {
    const NotePicture& picture = reproduction.pictures[k];
    data["pictures"][k]["drawing"] =
        graph_drawing(picture.graph, {{picture.title, picture.plan}}).json();
  }
  for (std::size_t k = 0; k < reproduction.lanes.size(); ++k) {
    const NoteLanes& note = reproduction.lanes[k];
    data["lanes"][k].update(lane_pictures(note.answer, note.graph, note.seconds()).json());
  }
  return render_page(kMxnetPage, "The MXNet note's figures", page_text(data));
}

}  // namespace skyline
