// What the engine asks of a database. Each verb is one transaction over a batch; its promise stands above it. `now` is
// always the caller's. No verb decides a transition: targets, reasons and due times come from the core. SQLite,
// PostgreSQL and the model keep the same promises; tests/store/conformance runs one suite over all of them.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/crypto.h"
#include "base/ids.h"
#include "base/limits.h"
#include "base/result.h"
#include "core/admit.h"
#include "core/delivery.h"
#include "core/expand.h"
#include "core/message.h"
#include "ports/content_store.h"
#include "ports/people_store.h"

namespace postrider {

/// Who acts, and why: what every line of the audit trail begins with.
struct OperatorAction {
  std::string actor = {};  // who
  std::string why = {};
  std::optional<TenantId> tenant = {};  // empty: any tenant
  ExemptCategories exempt = {};         // for retry(): what a general wish leaves alone
};

// ----------------------------------------------------------------------------------------------------------------
// intake

/// A line of the audit trail that is written with a new message, and only when it is new.
struct AuditNote {
  OperatorAction by = {};
  std::string action = {};
  std::optional<RowId> delivery = {};
  std::string detail = {};
};
struct NewMessage {
  OutboxRow row = {};  // row.id is set (a UUID); row.accepted is not
  TenantId tenant = 0;
  Candidate candidate = {};
  std::optional<AuditNote> note = {};  // where an operator had it made
  bool says_more = false;              // its row than its caller did: candidate.body is of what the caller said
  /// Its row is all there is to write: no entry, and no number that an entry or a note would name.
  [[nodiscard]] bool is_row_only() const { return candidate.repeats_nothing() && !note && !says_more; }
};
using IntakeGroup = std::vector<NewMessage>;  // one HTTP request: all or nothing

class IntakeStore {
 public:
  virtual ~IntakeStore() = default;
  /// Makes the new messages durable (outbox row, and dedup entries unless it is_row_only) in one transaction for all
  /// groups, judged by core admit(). A group with a reused key stores nothing. When it returns, everything it calls New
  /// is on disk. A key that another node took at the same moment is seen and answered as Duplicate.
  virtual Result<std::vector<std::vector<Admitted>>> accept(Instant now, std::span<const IntakeGroup> groups) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// expanding

/// A queue row that this node holds: who may complete it is decided by `fence` alone.
struct Lease {
  Lane lane = Lane::Standard;
  Channel channel = Channel::Email;
  TenantId tenant = 0;
  std::int64_t position = 0;
  RowId id = 0;  // the delivery; for Channel::Expand the message
  int fence = 0;
  int attempt = 0;  // calls so far, the one that this lease is for included
  ProviderId provider = 0;
  Instant claimed_at = {};
  std::uint64_t where = 0;  // the store's own: where it saw the row; a row that moved is found by its key
};
struct Claim {
  Lease lease = {};
  Delivery delivery = {};
};

/// What the pipeline decided about one outbox row or one piece of expand work.
struct ExpandedDelivery {
  NewDelivery made = {};
  ProviderId own_provider =
      0;  // not 0: insert the queue row already held by this node, for this provider (attempt 1, fence 1)
};
struct ExpandedMessage {
  Message message = {};  // id and uuid set
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
  std::vector<ExpandedDelivery> deliveries = {};
  Hash128 body = {};                      // for the dedup entries
  std::optional<DedupKey> key = {};       // its idempotency key, when it has one
  bool in_chunks = false;                 // state Expanding: make a queue row of Channel::Expand, deliveries come later
  std::optional<Instant> expand_at = {};  // in_chunks, but not before then: the row waits among the deferred
};
/// Called inside the expand transaction with the rows it took, in order of position; pure but for ids and reserved
/// places.
using ExpandDecision = std::function<std::vector<ExpandedMessage>(std::span<const OutboxRow>)>;

struct QueueGroup {  // where new work appeared
  Lane lane = Lane::Standard;
  Channel channel = Channel::Email;
  TenantId tenant = 0;
  auto operator<=>(const QueueGroup&) const = default;
};
/// How far the outbox was taken and how far it goes, as positions; zeros where nobody looked.
struct OutboxProgress {
  std::int64_t newest = 0;
  std::int64_t taken_to = 0;  // of the rows that do not overtake
  bool more = false;          // the turn had as many rows as it may have
};
struct ExpandReport {
  std::size_t rows = 0;
  std::vector<Claim> owned = {};        // the deliveries that were inserted already held by this node
  std::vector<QueueGroup> queued = {};  // groups that got queue rows held by nobody (each once)
  OutboxProgress outbox = {};
};

/// A message that waits to be expanded (in chunks, again after a failure, or replayed).
struct ExpandWork {
  Lease lease = {};
  Message message = {};
  std::size_t cursor = 0;  // (template × recipient) pairs already made; of a list: its last member that was made
  std::optional<Instant> as_of = {};  // its list is looked at as it was then; empty: nothing of it was made yet
  bool dispatched = false;            // an operator does not want to wait for its time
};
struct ExpandChunk {
  std::vector<ExpandedDelivery> deliveries = {};  // at most kDeliveriesPerExpansionMax; own_provider is not used here
  std::size_t cursor = 0;                         // after this chunk
  std::optional<Instant> as_of = {};              // kept with the message
  bool finished = false;                          // the message takes `state` and its queue row goes
  MessageState state = MessageState::Expanded;
  Reason reason = Reason::Expanded;
  std::string detail = {};
};

struct ExpandStep {  // a chunk of one message, and by which right it is written
  Lease lease = {};
  ExpandChunk chunk = {};
};
enum class Stepped : std::uint8_t { Written, LeaseLost };
struct ExpandSteps {
  ExpandReport report = {};           // of all that were written
  std::vector<Stepped> results = {};  // one for each step
};

class ExpandStore {
 public:
  virtual ~ExpandStore() = default;
  /// Takes up to `rows_max` outbox rows (those that name the priority lane first, up to three quarters of them, then
  /// by position; rows that another node holds are skipped), lets `decide`
  /// judge them, and writes messages, dedup entries, deliveries, queue / deferred / settled rows and removes the outbox
  /// rows, all in one transaction. A message whose id or key exists already becomes state Duplicate (reason
  /// DuplicateMessage, detail = the first message's UUID) and gets no deliveries; a row whose `accepted` equals its
  /// dedup entry is the first one itself. A delivery whose key exists is not made; a message all of whose deliveries
  /// existed becomes Duplicate (reason DuplicateDelivery, detail = first such key); one with only some keeps Expanded
  /// and gets reason DuplicateDelivery with the skipped keys in its detail. Rows with the same key in one batch: the
  /// earlier position wins. A message row whose tenant is unknown is stored under tenant 0.
  virtual Result<ExpandReport> expand(Instant now, NodeId node, std::size_t rows_max, const ExpandDecision& decide) = 0;
  /// Claims up to `count_max` expand work of any lane (fence + 1, attempt + 1).
  virtual Result<std::vector<ExpandWork>> claim_expand(Instant now, NodeId node, std::size_t count_max) = 0;
  /// Writes chunks of different messages together. One whose lease does not hold any more is left out. Same rules for
  /// delivery keys as expand(). After an error each of them is written whole or not at all.
  virtual Result<ExpandSteps> expand_chunks(Instant now, std::span<const ExpandStep> steps) = 0;
  /// The same with one; without its lease it is a Conflict.
  Result<ExpandReport> expand_chunk(Instant now, const Lease& lease, const ExpandChunk& chunk) {
    const ExpandStep step{lease, chunk};
    POSTRIDER_TRY(done, expand_chunks(now, {&step, 1}));
    if (done.results.front() == Stepped::LeaseLost)
      return Error{ErrorCode::Conflict, "the lease on this expand work was lost"};
    return std::move(done.report);
  }
  /// Puts the work off after a failure, fenced: deferred to `due_at` with its attempt count, the text kept as the
  /// message's last error.
  virtual Result<Done> defer_expand(Instant now, const Lease& lease, Instant due_at, Reason reason,
                                    std::string detail) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// sending

struct TenantShare {
  TenantId tenant = 0;
  int quota = 0;
  ProviderId provider = 0;
};
enum class ClaimWhat : std::uint8_t { Prefetchable, AtMostOnceOnly };
struct ClaimRequest {
  NodeId node = 0;
  Lane lane = Lane::Standard;
  Channel channel = Channel::Email;
  ClaimWhat what = ClaimWhat::Prefetchable;  // at-most-once rows are claimed apart, only for free connections
  std::vector<TenantShare> shares = {};
};
struct QueueHead {
  QueueGroup group = {};
  Instant oldest = {};  // when its first row was put there (from its position)
};

struct AttemptEnd {  // one row of `attempt`
  OutcomeKind outcome = OutcomeKind::Unclear;
  Reason reason = Reason::ConnectionLost;
  std::string provider_message_id = {};
  std::string excerpt = {};
  Instant started_at = {};
  Instant ended_at = {};
};
struct LateRendering {
  int template_version = 0;
  std::string locale = {}, subject = {}, body = {}, html = {}, warnings = {};
};
struct Completion {
  Lease lease = {};
  Verdict verdict = {};  // state Sent, Delivered, Retrying, Parked, Expired, Cancelled or Suppressed
  Guarantee guarantee = Guarantee::AtLeastOnce;
  std::optional<Instant> expires_at = {};
  std::optional<AttemptEnd> attempt = {};  // none when no call was made (expired, cancelled before the call)
  int attempt_fence = 0;    // the fence of the call: the lease's own, or one less when the node that called was lost
  std::string detail = {};  // kept with parked and settled rows
  std::shared_ptr<const LateRendering> rendered = {};  // what was sent, where it was written late and may be kept
};
enum class Recorded : std::uint8_t { Applied, Stale };

/// Where heads() looks. A look everywhere walks over what is gone and cannot be swept away yet; one behind the claims
/// of the last moments does not, and may miss what came to stand elsewhere.
enum class Look : std::uint8_t { Everywhere, BehindClaims };

class QueueStore {
 public:
  virtual ~QueueStore() = default;
  /// Every (lane, channel, tenant) that has queue rows, held or not, with the age of its first. By a loose index scan,
  /// never a full one. BehindClaims: at least those of them that this session claimed from lately and that have rows
  /// behind its last claim.
  virtual Result<std::vector<QueueHead>> heads(Look look) = 0;
  /// Leases up to quota rows per tenant, oldest position first, to `node`: fence + 1, attempt + 1, provider and time
  /// written. This commit is the write-ahead record of the attempts. Rows held by others, or with kCallsPerDeliveryMax
  /// calls behind them, are not claimed.
  virtual Result<std::vector<Claim>> claim(Instant now, const ClaimRequest& request) = 0;
  /// Ends leases, fenced, in one transaction: the queue row goes, the attempt row comes, and the delivery goes to
  /// deferred, parked or settled as its verdict says. A completion whose fence no longer matches is Stale: it moves
  /// nothing but leaves its attempt row (seq 1); a stale Accepted additionally ends a repeat that waits unclaimed
  /// (queue with no node, deferred) or is parked: state Sent or Delivered (its verdict's state), reason LateAnswer.
  /// A row that was called off while it was held (cancel(), cancel_entity(), suppress(), save_contacts()) is marked and
  /// never tried again: where its verdict says Retrying it is settled with the mark's reason, in the state that follows
  /// from it (state_when_called_off()).
  virtual Result<std::vector<Recorded>> record(Instant now, std::span<const Completion> completions) = 0;
  /// Gives rows back that no socket got: no node, attempt - 1, fenced. Stale ones are ignored; those that
  /// are marked are settled as record() does.
  virtual Result<Done> give_back(Instant now, std::span<const Lease> leases) = 0;
  struct Promoted {
    std::size_t rows = 0;
    std::vector<QueueGroup> groups = {};
    std::optional<Instant> next_due = {};  // of what is left
  };
  /// Moves up to `count_max` due deferred rows into the queue, behind what is there.
  virtual Result<Promoted> promote(Instant now, std::size_t count_max) = 0;
  /// Takes rows whose node is not among the living (fence + 1, attempt unchanged, node = `node`; a mark
  /// stays). Expand work among them is released.
  virtual Result<std::vector<Claim>> take_over(Instant now, NodeId node, std::size_t count_max) = 0;
  /// Ends waiting (unclaimed) and parked deliveries whose expiry has passed: settled as Expired. Returns how many.
  virtual Result<std::size_t> expire(Instant now, std::size_t count_max) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// nodes

struct NodeLease {
  NodeId node = 0;
  int slot = 0;  // for ids; no two living nodes share one
};
struct Peer {
  NodeId node = 0;
  std::int64_t beats = 0;
};

class NodeStore {
 public:
  virtual ~NodeStore() = default;
  virtual Result<Instant> database_now() = 0;
  virtual Result<NodeLease> join(Instant now, std::string_view name) = 0;
  /// Beats once and returns all nodes, this one included. Conflict when this node was declared dead.
  virtual Result<std::vector<Peer>> beat(Instant now, NodeId node) = 0;
  /// Removes a node that ended or was found dead; its rows are then free for take_over().
  virtual Result<Done> remove(NodeId node) = 0;
  /// Takes or keeps a named duty for `ttl`: its epoch, or empty when another living node has it.
  virtual Result<std::optional<std::int64_t>> lead(Instant now, NodeId node, std::string_view duty, Duration ttl) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// names

class NameStore {
 public:
  virtual ~NameStore() = default;
  /// Numbers for names, made when new, the same for ever. Tenants from 1, providers from 1.
  virtual Result<std::vector<TenantId>> tenants(std::span<const std::string> names) = 0;
  virtual Result<std::vector<ProviderId>> providers(std::span<const std::string> names) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// looking

struct AttemptView {
  int number = 0;
  int fence = 0;
  bool late = false;
  std::string provider = {};
  OutcomeKind outcome = OutcomeKind::Unclear;
  Reason reason = Reason::ConnectionLost;
  std::string provider_message_id = {};
  std::string excerpt = {};
  Instant started_at = {};
  Instant ended_at = {};
};
struct DeliveryView {
  Delivery delivery = {};
  DeliveryState state = DeliveryState::Queued;
  Reason reason = Reason::Waiting;
  std::string detail = {};
  int attempts = 0;
  std::optional<Instant> due_at = {};   // retrying
  std::optional<Instant> since = {};    // settled or parked at; sending: claimed at
  std::string provider = {};            // sending: through which
  std::vector<AttemptView> tries = {};  // filled by message(), and by list() where whole items are asked for
};
/// Which deliveries of a message are looked at one by one, in the order of their ids.
struct DeliveryRange {
  RowId after = 0;  // keyset: ids greater than this
  std::size_t count_max = kDeliveriesShownMax;
};
/// All deliveries of a message, counted.
struct DeliveryCounts {
  std::size_t total = 0;
  std::map<DeliveryState, std::size_t> by_state = {};  // only states that occur
  std::size_t scheduled = 0;                           // of the retrying: those that wait for their first time
};
struct MessageView {
  Message message = {};
  MessageState state = MessageState::Pending;
  Reason reason = Reason::Waiting;
  std::string detail = {};
  int attempts = 0;  // of expanding, when that had to be repeated
  std::optional<Instant> next_attempt = {};
  std::optional<Instant> since = {};
  std::vector<DeliveryView> deliveries = {};  // those that were asked for
  DeliveryCounts counts = {};
};
struct ListFilter {
  std::optional<TenantId> tenant = {};  // empty: all tenants (ops)
  std::string state = {};               // a delivery's or a message's state
  std::string type = {};
  std::optional<Channel> channel = {};
  std::string recipient = {};  // exact address
  std::string entity = {};     // what it is about
  std::optional<Instant> from = {}, until = {};
  std::optional<RowId> before = {};  // keyset: ids smaller than this
  std::size_t count_max = 50;
  bool whole = false;  // each with its attempts and its message
};
/// A delivery, or a message that has none (`delivery` empty).
struct ListItem {
  RowId id = 0;  // the keyset position
  Uuid message_uuid = {};
  TenantId tenant = 0;
  std::string type = {};
  std::string entity_id = {};
  std::optional<DeliveryView> delivery = {};
  MessageState message_state = MessageState::Expanded;
  Reason reason = Reason::Waiting;
  std::string detail = {};
  Instant accepted_at = {};
  std::shared_ptr<const Message> message = {};  // where the filter asks for whole items; without its sealed secret
};
struct MessageFilter {
  std::optional<TenantId> tenant = {};    // empty: all tenants (ops)
  std::vector<MessageState> states = {};  // empty: all
  std::optional<Instant> from = {}, until = {};
  std::optional<RowId> before = {};  // keyset: ids smaller than this
  std::size_t count_max = 50;
};
/// Everything that was for one address, and what would have been.
struct AddressedFilter {
  std::optional<TenantId> tenant = {};    // empty: all tenants (ops)
  std::string address = {};               // letter by letter
  std::vector<ContactRef> contacts = {};  // whose address it is
  std::string type = {};
  std::optional<Instant> from = {};
  std::optional<RowId> before = {};  // keyset: ids smaller than this
  std::size_t count_max = 50;
  std::size_t looked_at_max = 2000;  // messages without deliveries that are read for one page
};
struct AddressedPage {
  std::vector<ListItem> items = {};  // newest first
  std::optional<RowId> next = {};    // `before` of the next page, which may be an empty one; empty: this was the last
};
struct SandboxItem {
  RowId id = 0;
  Delivery delivery = {};
  std::string provider = {};
  Instant sent_at = {};
  int calls = 0;
};
struct QueueStats {
  std::size_t outbox = 0, queued = 0, sending = 0, retrying = 0, parked = 0;
  std::optional<Instant> oldest = {};
};

/// A delivery that is written just before it is sent, and its message with the sealed secret.
struct LateDelivery {
  Delivery delivery = {};
  Message message = {};
};

class ReadStore {
 public:
  virtual ~ReadStore() = default;
  /// These deliveries with everything that writing them takes, in the order asked for. Corrupt when one is not there.
  virtual Result<std::vector<LateDelivery>> late_deliveries(std::span<const RowId> ids) = 0;
  /// The story of one message: all of its deliveries counted, those of the range with everything. `tenant` empty: any
  /// tenant. NotFound also when it is another tenant's.
  virtual Result<MessageView> message(std::optional<TenantId> tenant, const Uuid& id, const DeliveryRange& range) = 0;
  Result<MessageView> message(std::optional<TenantId> tenant, const Uuid& id) { return message(tenant, id, {}); }
  /// Only their ids, in order.
  virtual Result<std::vector<RowId>> deliveries_of(RowId message, const DeliveryRange& range) = 0;
  /// Newest first. Rows still in the outbox are listed as pending messages (id = 0 keyset: only on the first page, at
  /// most count_max).
  virtual Result<std::vector<ListItem>> list(const ListFilter& filter) = 0;
  /// Deliveries to this address; those to its contacts that had no address; and messages without deliveries that name
  /// the address or one of the contacts, or whose payload has the address as a text of its own. What is still in the
  /// outbox stands on the first page, whatever `from` says (id 0, at most count_max).
  virtual Result<AddressedPage> addressed(const AddressedFilter& filter) = 0;
  /// Messages without their deliveries, newest first; those still in the outbox as above, with id 0.
  virtual Result<std::vector<MessageView>> messages(const MessageFilter& filter) = 0;
  /// What providers of these ids (sandbox, shim) would have sent, newest first.
  virtual Result<std::vector<SandboxItem>> sandbox(std::optional<TenantId> tenant,
                                                   std::span<const ProviderId> providers, std::optional<RowId> before,
                                                   std::size_t count_max) = 0;
  virtual Result<QueueStats> stats(std::optional<TenantId> tenant) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// operating

struct Acted {
  std::size_t changed = 0;
  std::size_t marked = 0;               // of these: cancelled while they were being sent
  std::vector<QueueGroup> groups = {};  // where work appeared
};

/// One thing of the application's, and what is told about it.
struct EntityRef {
  TenantId tenant = 0;
  std::string id = {};
  std::string type = {};  // empty: messages of every type
};
struct CancelledEntity {
  std::size_t messages = 0;  // that had not become deliveries, or not all of them
  std::size_t deliveries = 0;
  std::size_t marked = 0;                          // that were being sent: not tried again
  std::map<DeliveryState, std::size_t> left = {};  // what was not waiting any more, by where it is
};

class OperateStore {
 public:
  virtual ~OperateStore() = default;
  // Each writes an audit row per changed delivery or message (who, when, why, what) in the same transaction. Ids that
  // are unknown, another tenant's, or in a state that the action does not apply to are left alone and not counted.
  /// Parked deliveries back into the queue, attempts counted from 0 again, fence kept. What its recipient refused
  /// meanwhile (a suppression, an opt-out) is settled as Suppressed instead: nobody is written to against a wish that
  /// came while the delivery was parked.
  virtual Result<Acted> retry(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) = 0;
  virtual Result<Acted> discard(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) = 0;
  /// Queued (unclaimed) and retrying deliveries of these messages: settled as Cancelled. One that a node holds is
  /// marked, once: its call may be under way, but there is no other after it (see record, give_back). Pending outbox
  /// rows are not reached.
  virtual Result<Acted> cancel(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) = 0;
  /// Everything that waits about one entity: rows of the outbox (`decide` makes messages of them, without deliveries),
  /// messages that are still to be expanded, held by a node or not, and deliveries as cancel() treats them.
  /// All with reason CancelledWithEntity. In batches, each a transaction of its own.
  virtual Result<CancelledEntity> cancel_entity(Instant now, const OperatorAction& action, const EntityRef& entity,
                                                const ExpandDecision& decide) = 0;
  /// Failed and ignored messages become pending and get expand work again.
  virtual Result<Acted> replay(Instant now, const OperatorAction& action, std::span<const Uuid> messages) = 0;
  /// Retrying deliveries become due now (all of the tenant's when `deliveries` is empty).
  virtual Result<Acted> dispatch(Instant now, const OperatorAction& action, std::span<const RowId> deliveries) = 0;
  /// Expand work of these messages that waits for a later time becomes due now; what it makes is due at once too.
  virtual Result<Acted> dispatch_expand(Instant now, const OperatorAction& action, std::span<const Uuid> messages) = 0;
};

enum class Role : std::uint8_t { Producer = 1, Viewer = 2, Operator = 3, Admin = 4, Ops = 5, Site = 6 };  // stored
struct ApiKey {
  std::int64_t id = 0;
  std::string name = {};
  std::string hash = {};                // SHA-256 of the key, hex
  std::optional<TenantId> tenant = {};  // empty only for ops
  Role role = Role::Viewer;
  Instant created_at = {};
  std::optional<Instant> revoked_at = {};
};

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  virtual Result<ApiKey> add_key(Instant now, ApiKey key) = 0;
  virtual Result<std::vector<ApiKey>> keys() = 0;  // revoked ones too
  virtual Result<Done> revoke_key(Instant now, std::int64_t id) = 0;
};

// ----------------------------------------------------------------------------------------------------------------
// together

/// One user of the store: its own connection where the store has connections. Not thread-safe; each thread opens its
/// own.
class StoreSession : public IntakeStore,
                     public ExpandStore,
                     public QueueStore,
                     public NodeStore,
                     public NameStore,
                     public ReadStore,
                     public OperateStore,
                     public KeyStore,
                     public TemplateStore,
                     public ContactStore,
                     public ListStore,
                     public SuppressionStore {
 public:
  /// Ids for rows this session makes (deliveries get theirs from the pipeline; promoted and requeued rows need
  /// positions). Set after join(); before that only NodeStore, NameStore, ReadStore and KeyStore verbs may be used.
  virtual void use_ids(IdSource& ids) = 0;
};

enum class Nodes : bool { One, Many };

/// A database that was opened. Thread-safe.
class Store {
 public:
  virtual ~Store() = default;
  virtual Result<std::unique_ptr<StoreSession>> open_session() = 0;
  /// Brings the tables to this version, forward only. Conflict when they are newer than this program.
  virtual Result<Done> migrate() = 0;
  struct SchemaVersion {
    int found = 0;
    int wanted = 0;
  };
  virtual Result<SchemaVersion> schema_version() = 0;
  /// SQLite: takes the lock that keeps a second engine away from this file (Conflict when another one runs).
  /// PostgreSQL: nothing.
  virtual Result<Done> lock_for_serving() = 0;
  [[nodiscard]] virtual Nodes nodes() const = 0;
};

}  // namespace postrider
