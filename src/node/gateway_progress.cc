#include "node/gateway_progress.h"

#include <utility>

namespace banyan::node {

void OutputProgress::recover(const std::optional<ProgressRecord>& record) {
  recovered_ = record;
  if (record) record_of_ = record->execution;
}

void OutputProgress::begin(const ExecutionId& execution) {
  told_ = 0;
  if (execution_ == execution) return;
  execution_ = execution;
  const bool known = recovered_ && recovered_->execution == execution;
  seen_ = taken_ = stored_ = noted_ = known ? recovered_->seq : 0;
}

void OutputProgress::end() {
  if (record_of_ == execution_) close();
  if (recovered_ && recovered_->execution == execution_) recovered_.reset();
  execution_ = {};
  seen_ = taken_ = stored_ = noted_ = told_ = 0;
}

void OutputProgress::store() {
  if (writes_ || taken_ <= stored_) return;
  stored_ = taken_;
  writes_ = true;
  record_of_ = execution_;
  gateway_.store(progress_key(session_), to_record(ProgressRecord{execution_, taken_}), session_,
                 ProgressNoted{});
}

void OutputProgress::on_noted() {
  writes_ = false;
  noted_ = stored_;
}

void OutputProgress::tell(const HostId& executor) {
  if (noted_ <= told_) return;
  told_ = noted_;
  gateway_.send(executor, OutputDelivered{session_, execution_, noted_, false});
}

void OutputProgress::close() {
  if (std::exchange(record_of_, std::nullopt)) gateway_.store(progress_key(session_), {});
}

}  // namespace banyan::node
