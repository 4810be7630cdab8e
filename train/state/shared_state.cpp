#include "train/state/shared_state.h"

#include <algorithm>
#include <string>

#include "memory/now_seconds.h"

namespace skyline {

BusySeconds::BusySeconds(const RankGroup& group)
    : group_(group), began_(now_seconds()), waited_before_(waited()) {}

double BusySeconds::waited() const {
  const RankGroup::Seconds seconds = group_.seconds();
  return seconds.waiting + seconds.gathering;
}

double BusySeconds::so_far() const { return now_seconds() - began_ - (waited() - waited_before_); }

std::vector<RankOrder> exchange(RankGroup& group, const RankOrder& own) {
  std::vector<RankOrder> orders;
  for (const std::string& bytes : group.gather(bytes_of(own))) {
    orders.push_back(from_bytes<RankOrder>(bytes));
  }
  return orders;
}

namespace {

// The part of a piece that this rank holds.
struct OwnPart {
  std::uint64_t begin = 0, end = 0;  // in the whole tensor; empty if end <= begin
  std::uint64_t address = 0;         // of its first byte here
};

OwnPart own_part(const ModelRun& run, std::size_t tensor, std::uint64_t offset,
                 std::uint64_t bytes) {
  const auto size =
      static_cast<std::size_t>(parameter_of_state(run, tensor).value.shape().elements());
  const RankShare share = share_of_tensor(size, run.shares().place);
  OwnPart part{.begin = std::max<std::uint64_t>(offset, share.begin * sizeof(float)),
               .end = std::min<std::uint64_t>(offset + bytes, share.end * sizeof(float))};
  part.address = part.begin - share.begin * sizeof(float);
  return part;
}

std::string own_bytes(ModelRun& run, std::size_t tensor, std::uint64_t offset,
                      std::uint64_t bytes) {
  const OwnPart part = own_part(run, tensor, offset, bytes);
  if (part.end <= part.begin) return {};
  std::string own(part.end - part.begin, '\0');
  run.context.compute().read(
      own.data(), run.optimizer_state()[tensor].value.address() + part.address, own.size());
  return own;
}

}  // namespace

const Parameter& parameter_of_state(const ModelRun& run, std::size_t tensor) {
  const std::span<const Parameter> parameters = run.updated_parameters();
  return parameters[tensor * parameters.size() / run.optimizer_state().size()];
}

void share_running_values(ModelRun& run) {
  Context& context = run.context;
  RankGroup& group = *run.shares().group;
  std::string values;
  for (const Buffer& buffer : run.network().buffers()) {
    std::string bytes(buffer.value.spec().bytes(), '\0');
    if (group.rank() == 0) {
      context.compute().read(bytes.data(), buffer.value.address(), bytes.size());
    }
    values += bytes;
  }
  values = group.broadcast(std::move(values));
  std::size_t at = 0;
  for (const Buffer& buffer : run.network().buffers()) {
    if (group.rank() > 0) context.write(buffer.value, values.data() + at);
    at += buffer.value.spec().bytes();
  }
}

BatchFacts facts_of_ranks(const ModelRun& run) {
  BatchFacts facts = run.batch_facts();
  if (facts.lengths.empty()) return facts;  // of images; the same on each rank
  std::vector<std::uint64_t> own = {facts.sentences, facts.words};
  for (const auto& [side, length] : facts.lengths) own.push_back(length);
  facts.sentences = facts.words = 0;
  for (const std::string& bytes : run.shares().group->gather(
           {reinterpret_cast<const char*>(own.data()), own.size() * sizeof(own[0])})) {
    bytes.copy(reinterpret_cast<char*>(own.data()), bytes.size());
    facts.sentences += own[0];
    facts.words += own[1];
    for (std::size_t i = 0; i < facts.lengths.size(); ++i) {
      facts.lengths[i].second = std::max(facts.lengths[i].second, own[2 + i]);
    }
  }
  return facts;
}

void read_state(ModelRun& run, std::size_t tensor, std::uint64_t offset,
                std::span<std::byte> piece) {
  RankGroup& group = *run.shares().group;
  exchange(
      group,
      {.kind = RankOrder::Kind::kState, .tensor = tensor, .offset = offset, .bytes = piece.size()});
  auto* to = reinterpret_cast<char*>(piece.data());
  for (const std::string& part : group.gather(own_bytes(run, tensor, offset, piece.size()))) {
    to = std::ranges::copy(part, to).out;
  }
}

void give_state(ModelRun& run, const RankOrder& order) {
  run.shares().group->gather(own_bytes(run, order.tensor, order.offset, order.bytes));
}

void write_state(ModelRun& run, std::size_t tensor, std::uint64_t offset,
                 std::span<const std::byte> piece) {
  const OwnPart part = own_part(run, tensor, offset, piece.size());
  if (part.end <= part.begin) return;
  run.context.compute().write(run.optimizer_state()[tensor].value.address() + part.address,
                              piece.data() + (part.begin - offset), part.end - part.begin);
}

}  // namespace skyline
