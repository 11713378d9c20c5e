package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Operation is a movement of money (spec, Operation, REST representation).
type Operation struct {
	OPID                 untrusted.Text `json:"opid"`
	IsVisible            bool           `json:"isVisible"`
	Status               untrusted.Text `json:"status"`
	Type                 untrusted.Text `json:"type"`
	PaymentType          untrusted.Text `json:"paymentType"`
	CreatedAt            Time           `json:"createdAt"`
	UpdatedAt            Time           `json:"updatedAt"`
	Source               Party          `json:"source"`
	Destination          Party          `json:"destination"`
	SourceAmount         Amount         `json:"sourceAmount"`
	DestinationAmount    Amount         `json:"destinationAmount"`
	CommissionAmount     Amount         `json:"commissionAmount"`
	CurrentBalanceAmount Amount         `json:"currentBalanceAmount"`
	Comment              untrusted.Text `json:"comment"`
	IsParent             bool           `json:"isParent"`
	Reference            untrusted.Text `json:"reference"`
	Customer             CustomerRef    `json:"customer"`
	Documents            []Document     `json:"documents"` // nil: not in the answer; empty: the answer lists none
	UnreadDocuments      int            `json:"-"`         // documents in the answer that could not be read

	// Attached is the id under which the operation lists the document that was just attached; else "".
	Attached string `json:"-"`

	// Raw is the record exactly as it was received.
	Raw json.RawMessage `json:"-"`
}

// Party is one side of an operation: a customer's account or a counterparty's. The spec shows the first as source and
// the second as destination; either side may hold either (webhook pages).
type Party struct {
	Account             *PartyAccount        `json:"account,omitempty"`
	CounterpartyAccount *CounterpartyAccount `json:"counterpartyAccount,omitempty"`
}

// PartyAccount is a customer's account within an operation.
type PartyAccount struct {
	ID       untrusted.Text `json:"id"`
	Name     untrusted.Text `json:"name"`
	Number   untrusted.Text `json:"number"`
	Customer CustomerRef    `json:"customer"`
}

// NoPaymentType is the payment type of operations without one.
const NoPaymentType untrusted.Text = "EMPTY"

// CounterpartyAccount is a beneficiary's account within an operation.
type CounterpartyAccount struct {
	ID           untrusted.Text  `json:"id"`
	Name         untrusted.Text  `json:"name"`
	Number       untrusted.Text  `json:"number"`
	Counterparty CounterpartyRef `json:"counterparty"`
}

// CounterpartyRef names a counterparty.
type CounterpartyRef struct {
	SUID     untrusted.Text `json:"suid"`
	Name     untrusted.Text `json:"name"`
	BankName untrusted.Text `json:"bankName"`
}

// CustomerRef names a customer.
type CustomerRef struct {
	CUID untrusted.Text `json:"cuid"`
	Name untrusted.Text `json:"name"`
}

// Document is a file's link to an operation (spec, Document).
type Document struct {
	GUID     untrusted.Text `json:"guid"`
	FileName untrusted.Text `json:"fileName"`
	Size     int64          `json:"size"` // bytes; -1: not known
	MIME     untrusted.Text `json:"mime"`
	DocType  untrusted.Text `json:"docType"`
	Info     untrusted.Text `json:"info"`
	Lock     Lock           `json:"isLock"` // whether it cannot be removed
	CreateAt Time           `json:"createAt"`
}

func (d *Document) check(v jsontree.Value) {
	if d.Lock = LockIn(v); *d != (Document{}) { // an empty one is dropped
		sizeTold(v, &d.Size)
	}
}

// sizeTold makes a size not known that the record does not tell.
func sizeTold(record jsontree.Value, size *int64) {
	if !isWhole(record.Member("size")) {
		*size = -1
	}
}

// Lock says whether the service refuses to remove a document or a file. Not told is not unlocked.
type Lock int8

// The locks.
const (
	LockUnknown Lock = iota // the service did not tell
	Unlocked
	Locked
	LockRefused // the service did not tell, and refused a removal because of the lock
)

// LockIn is the lock that a record tells: by one member isLock, which is true or false (spec, Document). Another
// spelling of the name, a second one, and any other value do not tell it.
func LockIn(record jsontree.Value) Lock {
	locked, told := record.Member("isLock").Flag()
	switch {
	case !told || spelt(record, "isLock") != 1:
		return LockUnknown
	case locked:
		return Locked
	}
	return Unlocked
}

// Is reports whether the service says that it is locked.
func (l Lock) Is() bool { return l == Locked || l == LockRefused }

// UnmarshalJSON reads what MarshalJSON writes.
func (l *Lock) UnmarshalJSON(b []byte) error {
	*l = map[string]Lock{"true": Locked, "false": Unlocked}[string(b)]
	return nil
}

// MarshalJSON writes true, false, or null if it is not known.
func (l Lock) MarshalJSON() ([]byte, error) {
	if l == LockUnknown {
		return []byte("null"), nil
	}
	return strconv.AppendBool(nil, l.Is()), nil
}

// plainOperation is an Operation without methods, for encoding/json.
type plainOperation Operation

// ReadOperation decodes an operation and keeps body as its Raw, so the caller must not reuse body. It fails if body
// is not a JSON object.
func ReadOperation(body []byte) (Operation, error) {
	var o Operation
	if err := ReadRecord(body, (*plainOperation)(&o)); err != nil {
		return Operation{}, err
	}
	o.Raw = body
	o.dropUnread()
	return o, nil
}

// dropUnread drops documents without a name or identifier to act on (null, {}, a text). UnreadDocuments counts them,
// and Unknown lists them.
func (o *Operation) dropUnread() {
	came := len(o.Documents)
	o.Documents = slices.DeleteFunc(o.Documents, func(d Document) bool { return d == Document{} })
	if o.UnreadDocuments = came - len(o.Documents); came > 0 && len(o.Documents) == 0 {
		o.Documents = nil // unknown rather than none
	}
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (o *Operation) UnmarshalJSON(b []byte) error {
	raw := bytes.Clone(b)
	read, err := ReadOperation(raw)
	read.Raw = raw // even if it cannot be read
	*o = read
	return err
}

// MarshalJSON writes the record exactly as it was received; one without Raw is written from its fields, without
// amounts that it does not have.
func (o Operation) MarshalJSON() ([]byte, error) {
	if len(o.Raw) > 0 {
		return o.Raw, nil
	}
	return json.Marshal(struct {
		plainOperation
		SourceAmount         Amount `json:"sourceAmount,omitzero"`
		DestinationAmount    Amount `json:"destinationAmount,omitzero"`
		CommissionAmount     Amount `json:"commissionAmount,omitzero"`
		CurrentBalanceAmount Amount `json:"currentBalanceAmount,omitzero"`
	}{plainOperation(o), o.SourceAmount, o.DestinationAmount, o.CommissionAmount, o.CurrentBalanceAmount})
}

// DocumentsReported reports whether the answer listed the documents; if not, there may be some.
func (o Operation) DocumentsReported() bool { return o.Documents != nil }

// Unknown lists the fields of the record without a Go field.
func (o Operation) Unknown() []Field { return Unknown(o.Raw, o) }

// Document returns the document with that guid; of several entries one that is locked.
func (o Operation) Document(guid string) (out Document, listed bool) {
	for _, d := range o.Documents {
		if string(d.GUID) == guid && (!listed || d.Lock.Is()) {
			out, listed = d, true
		}
	}
	return out, listed
}

// Name is the display name of the party's account: its holder, else its name.
func (p Party) Name() untrusted.Text {
	switch {
	case p.CounterpartyAccount != nil && p.CounterpartyAccount.Counterparty.Name != "":
		return p.CounterpartyAccount.Counterparty.Name
	case p.CounterpartyAccount != nil:
		return p.CounterpartyAccount.Name
	case p.Account != nil && p.Account.Customer.Name != "":
		return p.Account.Customer.Name
	case p.Account != nil:
		return p.Account.Name
	}
	return ""
}

// Phase is the meaning of an operation's status word for opdeck.
type Phase int

// The phases. The service does not publish its status words: any other word is PhaseUnknown and is shown unchanged,
// never guessed.
const (
	PhaseUnknown Phase = iota
	PhaseOpen
	PhaseCompleted
	PhaseFailed
	PhaseCanceled
)

var phases = map[untrusted.Text]Phase{
	"PENDING": PhaseOpen, "NEW": PhaseOpen, "PROCESSING": PhaseOpen, "MODERATION": PhaseOpen, "PROGRESS": PhaseOpen,
	"SUCCESS": PhaseCompleted, "COMPLETED": PhaseCompleted, "COMPLETE": PhaseCompleted,
	"FAILED": PhaseFailed, "FAIL": PhaseFailed, "ERROR": PhaseFailed, "REJECTED": PhaseFailed, "REJECT": PhaseFailed,
	"CANCELED": PhaseCanceled, "CANCELLED": PhaseCanceled, "CANCEL": PhaseCanceled,
}

// statusPrefixes are prefixes of generated enumeration names.
var statusPrefixes = []string{"OPERATION_", "STATUS_"}

// Phase classifies the status, ignoring case and such a prefix. The spec shows PENDING and mentions completed, failed
// and canceled; the tree page shows SUCCESS; the rest are spellings of the same four.
func (o Operation) Phase() Phase {
	if p, ok := phases[o.Status]; ok {
		return p
	}
	word := strings.ToUpper(strings.TrimSpace(string(o.Status)))
	for _, prefix := range statusPrefixes {
		word = strings.TrimPrefix(word, prefix)
	}
	return phases[untrusted.Text(word)]
}

// Ended reports whether the operation is in an end state, in which documents are usually not changed (spec, Remove a
// document, rule 5).
func (p Phase) Ended() bool { return p >= PhaseCompleted }

// Word is the spec's name of the phase.
func (p Phase) Word() string {
	return [...]string{"unknown", "open", "completed", "failed", "canceled"}[p]
}

// Has ends a sentence about the operation: "has failed".
func (p Phase) Has() string {
	return [...]string{"has an unknown status", "is open", "is completed", "has failed", "was canceled"}[p]
}

// Page is one page of a list.
type Page[T any] struct {
	Items    []T // as received: Unusable of them have no identifier
	Page     int // from 0
	PageSize int
	Total    Number    // text on the wire; "" if not reported
	At       time.Time // when the request was sent: the rows are at least as new
	Unusable int       // items without an identifier: they can be shown, but not asked for
	After    After     // what the page says about the next one
}

// Whole reports whether n distinct records are the whole list after reading p: as many as the reported total, or,
// without a plausible total, p had no new records or said that it is the last. A page that repeats another one does
// not prove the end.
func (p Page[T]) Whole(n int) bool {
	if p.After.More == MoreFollows {
		return false
	}
	if total, err := strconv.Atoi(string(p.Total)); err == nil && total >= n {
		return total == n
	}
	return len(p.Items) == 0 || p.After.More == NoMore
}

// OperationQuery holds the service's own filters; the zero value lists all.
type OperationQuery struct {
	Account    string // account id or number
	ClientCUID string
	ClientName string // part of the name
	Page       int    // from 0
	Size       int    // 0: the configured page size
	Next       string // After.Next of the previous page; "": page by number
}

// RemoveDocument is a request to unlink a document from an operation. The document itself remains and can be attached
// again (spec, Remove a document, rule 1).
type RemoveDocument struct {
	OPID, GUID string
	// Seen is the operation that the person decided on; nil: whatever is there now. The write is refused if the
	// document or the status has changed since.
	Seen *Operation
	// Force lifts opdeck's own guards: for end states, and for a lock that the service did not tell. One that it told
	// is never lifted.
	Force bool
}

// LockGuard refuses to remove a document or delete a file (what) whose lock forbids it (done: "removed"). force lifts
// the guard for a lock that is not known.
func LockGuard(l Lock, force bool, op, what, done string) error {
	e := &Error{Op: op, Kind: Refused, Rule: RuleLocked, Unsent: true, Remedy: Remedy{Kind: LiftLock},
		Public: "The " + what + " is locked and cannot be " + done + "."}
	switch {
	case l == LockRefused:
		e.Public = "The service refused to remove the " + what + " because it is locked, and does not say that this changed."
	case l == LockUnknown && !force:
		e.Rule, e.Remedy.Kind = RuleLockUnknown, Force
		e.Public = "The service does not say whether the " + what + " is locked."
	case !l.Is():
		return nil
	}
	return e
}

// RefusedLocks are the guids of documents, by operation, whose removal the service refused because they are locked, and
// of which no read has told the lock since.
type RefusedLocks map[string][]string

// In returns the operation's documents, with LockRefused where it does not tell the lock of a refused one. It does not
// change o.
func (r RefusedLocks) In(o Operation) []Document {
	out := o.Documents
	for i, d := range o.Documents {
		if d.Lock == LockUnknown && slices.Contains(r[string(o.OPID)], string(d.GUID)) {
			if out[i].Lock == LockUnknown {
				out = slices.Clone(out)
			}
			out[i].Lock = LockRefused
		}
	}
	return out
}

// SeenDigest identifies what a question about a document is bound to: the document and the operation's status.
func SeenDigest(o Operation, guid string) string {
	d, _ := o.Document(guid)
	b, err := json.Marshal(struct {
		OPID, Status untrusted.Text
		Document     Document
	}{o.OPID, o.Status, d})
	if err != nil { // they are texts, numbers and flags: this cannot fail
		panic(fmt.Sprintf("api: document: %v", err))
	}
	return HashHex(b)
}

// ApplicationDocumentTypes returns the document types of the customer application record (spec, "Customer application
// document types": 25 types, then PROOF_OF_RESIDENCE). The service may accept more.
func ApplicationDocumentTypes() []string {
	return []string{
		"SOURCE_OF_FUNDS", "TYPE_VISA", "IDENTIFY_BIOMETRICS", "INCUMBENCY_CERT", "PHOTO", "COMPLIANCE_OFFICER_RESUME",
		"REGULATORY_LICENSE", "SANCTIONS_AUDIT", "SANCTIONS_POLICY", "TRADE_LICENSE", "COMMERCIAL_LICENSE",
		"WOLFSBERG_GCBDDQ", "SOURCE_OF_WEALTH_COMPANY", "SOURCE_OF_WEALTH_SHAREHOLDER", "ORG_CHART", "AML_KYC_POLICY",
		"OWNERSHIP_STRUCTURE", "UBO_POA", "DIRECTOR_POA", "UBO_LIVENESS", "DIRECTOR_LIVENESS", "CONTRACT", "INVOICE",
		"TERM_SHEET", "BILL_OF_LADING", "PROOF_OF_RESIDENCE",
	}
}

// DocumentTypes returns every document type in the service's documents: those of operations and of the upload page,
// then ApplicationDocumentTypes. The service may accept more, so an unknown type is no error.
func DocumentTypes() []string {
	return slices.Concat([]string{
		"OPERATION_DOCUMENT", "PASSPORT", "ACCOUNT_AGREEMENT", "L2_ACCOUNT_AGREEMENT", "INCORPORATION_DOCUMENTS",
		"BANK_STATEMENT", "UTILITY_BILL", "LEASE_AGREEMENT", "LLC_AGREEMENT", "ARTICLES_OF_INCORPORATION",
	}, ApplicationDocumentTypes())
}

// DeleteFile is a request to delete a customer's file.
type DeleteFile struct {
	CUID, ID string
	// Seen is the file as the person saw it when they decided; nil: whatever is there
	// now. One that changed since is a refusal.
	Seen *CustomerFile
	// Force lifts opdeck's own guard for a lock that the service did not tell, never one that it told.
	Force bool
}

// ReportQuery selects the operations of a report. The service requires both numbers, and its page names no other
// filter.
type ReportQuery struct {
	Page int // page number, from 0
	Size int // operations a page; 0: the configured page size
}

// Report describes what was read of the service's report of operations.
type Report struct {
	Bytes int64          // written
	Name  untrusted.Text // the service's name for the file; often ""
}
