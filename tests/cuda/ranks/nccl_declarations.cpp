// Compiles only if our declarations of NCCL are those of its header.
#include <nccl.h>

#include <type_traits>

#include "framework/cuda/nccl/nccl_library.h"

namespace skyline {
namespace {

static_assert(sizeof(NcclId) == sizeof(ncclUniqueId) && alignof(NcclId) == alignof(ncclUniqueId));
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int));
static_assert(kNcclSuccess == ncclSuccess && kNcclInProgress == ncclInProgress);
static_assert(kNcclFloat32 == ncclFloat32 && kNcclSum == ncclSum);

// Our type for one of the header's.
template <typename T>
struct Ours {
  using Type = std::conditional_t<std::is_enum_v<T>, int, T>;
};
template <>
struct Ours<ncclUniqueId> {
  using Type = NcclId;
};
template <>
struct Ours<ncclComm> {
  using Type = NcclCommunicator;
};
template <typename T>
struct Ours<T*> {
  using Type = typename Ours<T>::Type*;
};

template <typename Function>
struct Pointer;
template <typename Result, typename... Parameters>
struct Pointer<Result(Parameters...)> {
  using Type = typename Ours<Result>::Type (*)(typename Ours<Parameters>::Type...);
};

template <typename Function, typename Member>
constexpr bool is_same(Member NcclLibrary::*) {
  return std::is_same_v<Member, typename Pointer<Function>::Type>;
}

static_assert(is_same<decltype(ncclGetUniqueId)>(&NcclLibrary::get_unique_id));
static_assert(is_same<decltype(ncclCommInitRank)>(&NcclLibrary::comm_init_rank));
static_assert(is_same<decltype(ncclCommAbort)>(&NcclLibrary::comm_abort));
static_assert(is_same<decltype(ncclCommGetAsyncError)>(&NcclLibrary::comm_get_async_error));
static_assert(is_same<decltype(ncclGroupStart)>(&NcclLibrary::group_start));
static_assert(is_same<decltype(ncclGroupEnd)>(&NcclLibrary::group_end));
static_assert(is_same<decltype(ncclSend)>(&NcclLibrary::send));
static_assert(is_same<decltype(ncclRecv)>(&NcclLibrary::recv));
static_assert(is_same<decltype(ncclAllReduce)>(&NcclLibrary::all_reduce));

}  // namespace
}  // namespace skyline
