#include "watchdog/watchdog.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <future>
#include <utility>

#include "base/given_up.hpp"
#include "base/text.hpp"
#include "watchdog/stuck_call.hpp"

namespace hirgen {

namespace {

constexpr int kPeriodMs = 20;
constexpr std::chrono::milliseconds kHeartbeatPeriod(100);

// Rank 0 waits this long for other signs before it judges: the death of a rank shows a little later
// than the errors that it causes.
constexpr double kGatherSeconds = 0.5;
// A rank that reported a failure waits this long for rank 0's verdict before it acts alone.
constexpr double kVerdictSeconds = 2;
// The longest wait for the other ranks to close their connections, so that they get the verdict.
constexpr double kLingerSeconds = 1;
// fail() returns after this time at the latest.
constexpr double kFailSeconds = kVerdictSeconds + kLingerSeconds + 1;

constexpr size_t kLongestText = 4096;

// The time for the host program's callback, which may never return.
constexpr double kCallbackSeconds = 1;
// After the ranks are given up, the process ends unless the host leaves its calls within this time.
// Context::end() waits as long for the device (let_go()).
constexpr double kRescueSeconds = 2;

}  // namespace

Watchdog::Watchdog(const ContextOptions& options, std::vector<Socket> control,
                   DeviceMonitor& monitor, std::function<void()> interrupt)
    : options_(options),
      monitor_(monitor),
      channel_(options.rank, options.world, std::move(control)),
      interrupt_(std::move(interrupt)),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      statements_at_begin_(host_statements.load()),
      ranks_(static_cast<size_t>(options.world)),
      heard_(static_cast<size_t>(options.world), Clock::now()) {
  if (wake_fd_ < 0) {
    throw Error(Code::kEnvironment, std::string("cannot watch the ranks: ") + std::strerror(errno));
  }
  thread_ = std::thread([this] { run(); });
}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  eventfd_write(wake_fd_, 1);
  thread_.join();
  close(wake_fd_);
}

void Watchdog::begin_work() {
  work_items_.fetch_add(1);
  working_.fetch_add(1);
}

void Watchdog::end_work() { working_.fetch_sub(1); }

int64_t Watchdog::begin_call() {
  statements_at_begin_.store(host_statements.load(std::memory_order_relaxed));
  begin_work();
  return begun_.fetch_add(1) + 1;
}

void Watchdog::call_issued() {
  issued_.fetch_add(1);
  end_work();
}

void Watchdog::fail(const Error& error) {
  std::unique_lock lock(mutex_);
  failed_.store(true);
  std::string text = error.what();
  if (text.size() > kLongestText) text.resize(kLongestText);
  host_failures_.push_back({options_.rank, error.suspect(), error.code(), text});
  eventfd_write(wake_fd_, 1);
  concluded_wake_.wait_until(lock, after(kFailSeconds), [this] { return concluded_; });
  if (!failure_) failure_ = error;
}

std::optional<Error> Watchdog::failure() const {
  if (!failed_.load()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return failure_;
}

Watchdog::Inside::Inside(Watchdog& watchdog)
    : inside_(*watchdog.inside_), outer_(std::exchange(given_up, &watchdog.given_up_)) {
  inside_.fetch_add(1);
}

Watchdog::Inside::~Inside() {
  given_up = outer_;
  inside_.fetch_sub(1);
}

bool Watchdog::let_go() {
  std::shared_ptr<Rescue> rescue;
  {
    const std::lock_guard lock(mutex_);
    rescue = rescue_;
  }
  return rescue != nullptr && rescue->finish(kRescueSeconds);
}

void Watchdog::run() {
  Clock::time_point last_round = Clock::now();
  while (true) {
    channel_.wait(wake_fd_, kPeriodMs);
    longest_gap_ = std::max(longest_gap_, seconds_since(last_round));
    last_round = Clock::now();
    listen();
    observe();
    if (!concluded_ && decide()) conclude();
    const std::lock_guard lock(mutex_);
    if (stop_) break;
  }
  if (!failed_.load()) channel_.send_goodbye();
}

// Reads messages of the other ranks and the host thread, and sends this rank's progress.
void Watchdog::listen() {
  eventfd_t ignored = 0;
  eventfd_read(wake_fd_, &ignored);
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank].silent_seconds = seconds_since(heard_[rank]);
  }
  update_self();
  channel_.receive(&ranks_, &failures_, &verdict_);
  for (size_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].silent_seconds == 0) heard_[rank] = Clock::now();
  }
  std::vector<Failure> fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh.swap(host_failures_);
  }
  for (const Failure& failure : fresh) {
    failures_.push_back(failure);
    if (options_.rank != 0) channel_.send_failure(failure);
  }
  if (Clock::now() < next_heartbeat_) return;
  next_heartbeat_ = Clock::now() + kHeartbeatPeriod;
  channel_.send_heartbeat(ranks_[static_cast<size_t>(options_.rank)].progress);
}

void Watchdog::update_self() {
  RankView& self = ranks_[static_cast<size_t>(options_.rank)];
  self.silent_seconds = 0;
  Progress& progress = self.progress;
  progress.begun = begun_.load();
  progress.issued = issued_.load();
  progress.completed = monitor_.completed();
  // Compare ranks only by the statements within a call or before the first: between calls, rank 0
  // issues more than the others.
  const bool compares = progress.begun == 0 || progress.begun > progress.issued;
  const uint64_t now = host_statements.load(std::memory_order_relaxed);
  const uint64_t begin = statements_at_begin_.load();
  progress.statements = compares && now > begin ? now - begin : 0;
  progress.position = host_position.load(std::memory_order_relaxed);
}

// Looks for failures that this rank can see alone, and reports the first one. Notes the time of the
// first sign of any failure.
void Watchdog::observe() {
  const bool reported =
      std::any_of(failures_.begin(), failures_.end(),
                  [this](const Failure& failure) { return failure.reporter == options_.rank; });
  if (!reported) {
    const double timeout = options_.timeout_seconds;
    if (const std::string text = monitor_.failure(); !text.empty()) {
      accuse(Code::kDevice, text);
    } else if (monitor_.oldest_seconds() > timeout) {
      accuse(Code::kTimeout,
             format("rank %d: call %ld did not complete within %s", options_.rank,
                    static_cast<long>(monitor_.completed() + 1), seconds_text(timeout).c_str()));
    } else {
      observe_host();
    }
  }
  const bool lost = std::any_of(ranks_.begin(), ranks_.end(), [this](const RankView& rank) {
    return !rank.left &&
           (rank.died || rank.silent_seconds > silence_limit(options_.timeout_seconds));
  });
  // A rank other than 0 gets messages from rank 0 only. On such a rank, heard_ changes only for
  // rank 0 and for the rank itself.
  const RankView& hub = ranks_.front();
  const bool hub_lost =
      !hub.left && (hub.died || hub.silent_seconds > silence_limit(options_.timeout_seconds));
  const bool sign = !failures_.empty() || (options_.rank == 0 ? lost : hub_lost);
  if (sign && !first_sign_) first_sign_ = Clock::now();
}

void Watchdog::observe_host() {
  const uint64_t key = host_statements.load(std::memory_order_relaxed) + work_items_.load();
  if (key != host_key_ || working_.load() == 0) {
    host_key_ = key;
    host_moved_ = Clock::now();
    return;
  }
  if (seconds_since(host_moved_) <= options_.timeout_seconds) return;
  accuse(Code::kTimeout,
         format("rank %d: the host is stuck at %s for %s", options_.rank, host_position.load(),
                seconds_text(seconds_since(host_moved_)).c_str()));
}

void Watchdog::accuse(Code code, const std::string& text, int suspect) {
  const Failure failure{options_.rank, suspect, code, text};
  failures_.push_back(failure);
  if (options_.rank != 0) channel_.send_failure(failure);
}

bool Watchdog::decide() {
  if (verdict_) return true;
  if (!first_sign_) return false;
  if (longest_gap_ > silence_limit(options_.timeout_seconds) / 2) {
    // At some time in this run, this rank was silent for so long that the other ranks may have
    // given it up. So it takes itself for the cause of the failures that it sees now.
    verdict_ = Verdict{options_.rank, Code::kTimeout,
                       format("rank %d did not run for %s: it was stopped, or starved",
                              options_.rank, seconds_text(longest_gap_).c_str())};
    return true;
  }
  if (options_.rank != 0) {
    verdict_ = decide_alone();
    return verdict_.has_value();
  }
  const bool certain = std::any_of(ranks_.begin(), ranks_.end(),
                                   [](const RankView& rank) { return rank.died && !rank.left; });
  if (!certain && options_.world > 1 && seconds_since(*first_sign_) < kGatherSeconds) return false;
  verdict_ = judge(ranks_, failures_, options_.timeout_seconds);
  channel_.send_verdict(*verdict_);
  return true;
}

// The verdict of a rank other than 0, which knows only rank 0's state and its own failures. It is
// nullopt unless rank 0 has left, is lost, or has sent no verdict for kVerdictSeconds after the
// first sign.
std::optional<Verdict> Watchdog::decide_alone() {
  const RankView& hub = ranks_.front();
  const bool hub_lost = hub.died || hub.silent_seconds > silence_limit(options_.timeout_seconds);
  if (!hub.left && !hub_lost && seconds_since(*first_sign_) < kVerdictSeconds) return std::nullopt;
  return judge({hub}, failures_, options_.timeout_seconds);
}

// The failure that the host thread itself reports when fail() returns: one that no other rank can
// have caused, or any failure if the verdict blames this rank for its own error. Null if there is
// none.
const Failure* Watchdog::own_fault() const {
  if (!failed_.load()) return nullptr;
  const bool culprit = verdict_->culprit == options_.rank && verdict_->code != Code::kPeer &&
                       verdict_->code != Code::kTimeout;
  const auto found = std::find_if(failures_.begin(), failures_.end(), [&](const Failure& failure) {
    return failure.reporter == options_.rank &&
           (culprit || failure.code == Code::kUsage || failure.code == Code::kEnvironment ||
            failure.code == Code::kInternal);
  });
  return found == failures_.end() ? nullptr : &*found;
}

// The error that calls return from now on.
Error Watchdog::outcome(const Failure* own) const {
  if (own != nullptr) return {own->code, own->text, own->suspect};
  return {exit_code(*verdict_, options_.rank), report(), verdict_->culprit};
}

// Calls the host program's callback, and waits for it for a limited time.
void Watchdog::announce(const Error& error) const {
  if (!options_.on_failure) return;
  auto done = std::make_shared<std::promise<void>>();
  std::thread([call = options_.on_failure, error, done] {
    call(error.code(), error.what());
    done->set_value();
  }).detach();
  static_cast<void>(done->get_future().wait_for(std::chrono::duration<double>(kCallbackSeconds)));
}

// Makes failure() return this error, and lets the host thread return from fail().
void Watchdog::settle(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = error;
    concluded_ = true;
  }
  concluded_wake_.notify_all();
}

void Watchdog::conclude() {
  const Failure* const own = own_fault();
  const Error error = outcome(own);
  announce(error);
  if (options_.survives) {
    give_up(error);
    return await_host();
  }
  if (own == nullptr) end_process(error.what());
  if (options_.rank == 0) channel_.linger(kLingerSeconds);
  settle(error);
}

// This must not wait for the device or for another thread.
void Watchdog::end_process(const std::string& text) {
  // One write, so that the reports of several ranks do not mix.
  static_cast<void>(!write(STDERR_FILENO, text.data(), text.size()));
  if (options_.rank == 0) channel_.linger(kLingerSeconds);
  _exit(static_cast<int>(exit_code(*verdict_, options_.rank)));
}

// Releases everything that the rank waits for. Publishes the failure first, so that calls fail
// before streams drain.
void Watchdog::give_up(const Error& error) {
  auto rescue = std::make_shared<Rescue>(options_.device, monitor_, inside_);
  {
    const std::lock_guard lock(mutex_);
    failure_ = error;
    rescue_ = rescue;
  }
  failed_.store(true);
  given_up_.store(true);
  interrupt_();
  rescue->start();
  settle(error);
}

// Keeps the connections until the other ranks have the verdict. Then ends the process if the host
// does not leave its calls in time.
void Watchdog::await_host() {
  const Deadline limit = after(kRescueSeconds);
  channel_.linger(kLingerSeconds);
  channel_.close();
  while (true) {
    {
      const std::lock_guard lock(mutex_);
      if (stop_) return;
    }
    if (inside_->load() > 0 && Clock::now() > limit) {
      end_process(report() + "  the call cannot be called back from there: the process ends\n");
    }
    eventfd_t ignored = 0;
    eventfd_read(wake_fd_, &ignored);
    channel_.wait(wake_fd_, kPeriodMs);
  }
}

std::string Watchdog::report() const {
  const Progress& self = ranks_[static_cast<size_t>(options_.rank)].progress;
  std::string text = format("hirgen: %s rank %d of %d stops: %s\n", options_.program.c_str(),
                            options_.rank, options_.world, verdict_->text.c_str());
  text += format("  calls begun %ld, issued %ld, completed %ld\n", static_cast<long>(self.begun),
                 static_cast<long>(self.issued), static_cast<long>(self.completed));
  text += describe_stuck_call(monitor_, self.begun);
  text += "  host at " + self.position + "\n";
  return text + format("  %s %d\n", options_.survives ? "code" : "exit code",
                       static_cast<int>(exit_code(*verdict_, options_.rank)));
}

}  // namespace hirgen
