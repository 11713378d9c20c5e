package field

import (
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Accounts are the fields of an account.
var Accounts = New(
	Field[api.Account]{Name: "name", JSON: "name", Kind: Text, Sortable: true, About: "a part of the name",
		Example: "name:main",
		Column:  Layout{Min: 12, Max: 30, Flex: 1}, Text: func(a api.Account) untrusted.Text { return a.Name }},
	Field[api.Account]{Name: "status", JSON: "status", Kind: Code, Status: true, Sortable: true,
		About: "the service's status word", Example: "status:ACCEPT",
		Column: Layout{Min: 12}, Text: func(a api.Account) untrusted.Text { return a.Status }},
	Field[api.Account]{Name: "balance", JSON: "balance", Kind: Money, Sortable: true, About: "the balance, exact",
		Example: "balance<0",
		Column:  Layout{Min: 18}, Money: func(a api.Account) api.Money { return a.Balance.Value() }},
	Field[api.Account]{Name: "hold", JSON: "hold", Kind: Money, Sortable: true,
		About: "the part that operations in progress reserve, exact", Example: "hold>0",
		Column: Layout{Min: 14, HidePriority: 2}, Money: func(a api.Account) api.Money { return a.Hold.Value() }},
	Field[api.Account]{Name: "customer", JSON: "customer.name", Kind: Text, Sortable: true,
		About: "a part of its customer's name", Example: "customer:acme",
		Column: Layout{Min: 12, Flex: 1, HidePriority: 1},
		Text:   func(a api.Account) untrusted.Text { return a.Customer.Name }},
	Field[api.Account]{Name: "cuid", JSON: "customer.id", Kind: ID, About: "its customer's identifier, or its beginning",
		Example: "cuid:DqCsgSE",
		Text:    func(a api.Account) untrusted.Text { return a.Customer.ID }},
	Field[api.Account]{Name: "number", JSON: "number", Kind: Text, Sensitive: true, About: "the account number",
		Column: Layout{Min: 10, Max: 26, HidePriority: 4}, Text: func(a api.Account) untrusted.Text { return a.Number }},
	Field[api.Account]{Name: "currency", JSON: "currencyCode", Kind: Code, About: "the currency's code",
		Example: "currency:EUR",
		Text:    func(a api.Account) untrusted.Text { return a.CurrencyCode }},
	Field[api.Account]{Name: "associate", JSON: "associateType", Kind: Code, About: "what the service uses it for",
		Example: "associate:POOL",
		Text:    func(a api.Account) untrusted.Text { return a.AssociateType }},
	Field[api.Account]{Name: "default", JSON: "isDefault", Kind: Flag, About: "the customer's default account",
		Flag:     func(a api.Account) bool { return a.IsDefault },
		Reported: func(a api.Account) bool { return api.HasFlag(a.Raw, "isDefault") }},
	Field[api.Account]{Name: "created", JSON: "createdAt", Kind: Time, About: "when it was created",
		Example: "created<30d",
		Time:    func(a api.Account) api.Time { return a.CreatedAt }},
	Field[api.Account]{Name: "updated", JSON: "updatedAt", Kind: Time, Sortable: true, About: "when it last changed",
		Example: "updated<2d",
		Time:    func(a api.Account) api.Time { return a.UpdatedAt }},
	Field[api.Account]{Name: "id", JSON: "id", Kind: ID, About: "the account's identifier, or its beginning",
		Example: "id:U1v72k",
		Column:  Layout{Min: 12, Max: 26, HidePriority: 3, CutMiddle: true},
		Text:    func(a api.Account) untrusted.Text { return a.ID }},
)

// Counterparties are the fields of a counterparty.
var Counterparties = New(
	Field[api.Counterparty]{Name: "name", JSON: "profile.name", Kind: Text, Sortable: true, About: "a part of the name",
		Example: "name:meridian",
		Column:  Layout{Min: 16, Flex: 3}, Text: api.Counterparty.Name},
	Field[api.Counterparty]{Name: "status", JSON: "accounts.status", Kind: Code, Status: true, Sortable: true,
		About:  "the status words of its accounts",
		Column: Layout{Min: 19, Max: 30, Flex: 1}, Text: statusesOf, Says: countedStatuses,
		Reported: func(p api.Counterparty) bool {
			return p.Accounts != nil && len(p.Accounts) == 0 || statusesOf(p) != ""
		}},
	Field[api.Counterparty]{Name: "accounts", JSON: "accounts", Kind: Count, Sortable: true,
		About: "how many accounts it has", Example: "accounts>1",
		Column:   Layout{Min: 8, HidePriority: 3},
		Count:    func(p api.Counterparty) int { return len(p.Accounts) },
		Reported: func(p api.Counterparty) bool { return p.Accounts != nil }},
	Field[api.Counterparty]{Name: "customer", JSON: "customer.name", Kind: Text, Sortable: true,
		About: "a part of the name of the customer who pays it", Example: "customer:acme",
		Column: Layout{Min: 12, Flex: 2, HidePriority: 1},
		Text:   func(p api.Counterparty) untrusted.Text { return p.Customer.Name }},
	Field[api.Counterparty]{Name: "cuid", JSON: "customer.cuid", Kind: ID,
		About: "that customer's identifier, or its beginning", Example: "cuid:DqCsgSE",
		Text: func(p api.Counterparty) untrusted.Text { return p.Customer.CUID }},
	Field[api.Counterparty]{Name: "description", JSON: "description", Kind: Text, About: "the description",
		Example: "description:supplier",
		Text:    func(p api.Counterparty) untrusted.Text { return p.Description }},
	Field[api.Counterparty]{Name: "created", JSON: "createdAt", Kind: Time, About: "when it was created",
		Example: "created<30d",
		Time:    func(p api.Counterparty) api.Time { return p.CreatedAt }},
	Field[api.Counterparty]{Name: "updated", JSON: "updatedAt", Kind: Time, Sortable: true, About: "when it last changed",
		Example: "updated<2d",
		Column:  Layout{Min: 16, HidePriority: 4, Dim: true}, Time: func(p api.Counterparty) api.Time { return p.UpdatedAt }},
	Field[api.Counterparty]{Name: "id", Aliases: []string{"suid"}, JSON: "counterpartyId", Kind: ID,
		About: "the counterparty's identifier, or its beginning", Example: "id:UvYqyr",
		Column: Layout{Min: 12, Max: 26, HidePriority: 2, CutMiddle: true},
		Text:   func(p api.Counterparty) untrusted.Text { return p.ID }},
)

// statusesOf are the status words of the accounts, each once.
func statusesOf(p api.Counterparty) untrusted.Text {
	var out []string
	for _, s := range p.Statuses() {
		out = append(out, string(s))
	}
	return untrusted.Text(strings.Join(out, " "))
}

// countedStatuses is how many accounts have which status: "1 REJECT, 2 ACCEPT".
func countedStatuses(p api.Counterparty) untrusted.Text {
	var out []string
	for _, s := range p.Statuses() {
		n := 0
		for _, a := range p.Accounts {
			if a.Status == s {
				n++
			}
		}
		out = append(out, strconv.Itoa(n)+" "+string(s))
	}
	return untrusted.Text(strings.Join(out, ", "))
}

// Customers are the fields of a customer that lists show.
var Customers = New(
	Field[api.Customer]{Name: "name", JSON: "name", Kind: Text, About: "a part of the name", Example: "name:acme",
		Sortable: true,
		Column:   Layout{Min: 24, Flex: 3}, Text: api.Customer.DisplayName},
	Field[api.Customer]{Name: "type", Aliases: []string{"kind"}, JSON: "type", Kind: Code,
		About: "individual or corporate", Example: "type:corporate",
		Sortable: true, Column: Layout{Min: 10, HidePriority: 1},
		Text: func(c api.Customer) untrusted.Text { return c.Type }},
	Field[api.Customer]{Name: "status", JSON: "status", Kind: Code, Status: true, About: "the service's status word",
		Example: "status:NEW", Sortable: true,
		Column: Layout{Min: 12}, Text: func(c api.Customer) untrusted.Text { return c.Status }},
	Field[api.Customer]{Name: "cuid", Aliases: []string{"id"}, JSON: "cuid", Kind: ID,
		About:   "the customer's identifier, or its beginning",
		Example: "cuid:DqCsgSE", Column: Layout{Min: 13, Max: 26, HidePriority: 8, CutMiddle: true},
		Text: func(c api.Customer) untrusted.Text { return c.CUID }},
	Field[api.Customer]{Name: "created", JSON: "createdAt", Kind: Time, About: "when it was created",
		Example:  "created<30d",
		Sortable: true,
		Column:   Layout{Min: 16, HidePriority: 4, Dim: true}, Time: func(c api.Customer) api.Time { return c.CreatedAt }},
	Field[api.Customer]{Name: "updated", JSON: "updatedAt", Kind: Time, About: "when it last changed",
		Example: "updated<2d",
		Column:  Layout{Min: 16, HidePriority: 3, Dim: true}, Time: func(c api.Customer) api.Time { return c.UpdatedAt }},
)

// Documents are the fields of a document that is attached to an operation.
var Documents = New(
	Field[api.Document]{Name: "id", Aliases: []string{"guid"}, JSON: "guid", Kind: ID,
		About: "the document's identifier, or its beginning", Example: "id:ba464e45",
		Column: Layout{Title: "document id"},
		Text:   func(d api.Document) untrusted.Text { return d.GUID }},
	Field[api.Document]{Name: "name", Aliases: []string{"file"}, JSON: "fileName", Kind: Text,
		About: "a part of the file's name", Example: "name:invoice", Sortable: true,
		Column: Layout{Min: 14, Flex: 3, CutMiddle: true},
		Text:   func(d api.Document) untrusted.Text { return d.FileName }},
	Field[api.Document]{Name: "type", JSON: "docType", Kind: Code, About: "the kind of document", Example: "type:INVOICE",
		Sortable: true, Column: Layout{Min: 18, Max: 24, Flex: 1, HidePriority: 2, Dim: true},
		Text: func(d api.Document) untrusted.Text { return d.DocType }},
	Field[api.Document]{Name: "media", JSON: "mime", Kind: Code, About: "the media type", Example: "media:application/pdf",
		Column: Layout{Title: "media type", Min: 15, Max: 30, Flex: 1, HidePriority: 4, Dim: true},
		Text:   func(d api.Document) untrusted.Text { return d.MIME }},
	Field[api.Document]{Name: "size", JSON: "size", Kind: Count, Bytes: true, About: "bytes", Example: "size>100000",
		Sortable: true, Column: Layout{Min: 8},
		Count: func(d api.Document) int { return int(d.Size) }},
	Field[api.Document]{Name: "created", JSON: "createAt", Kind: Time, About: "when it was uploaded",
		Example: "created>2026-01-01", Sortable: true, Column: Layout{Min: 16, HidePriority: 3, Dim: true},
		Time: func(d api.Document) api.Time { return d.CreateAt }},
	Field[api.Document]{Name: "locked", JSON: "isLock", Kind: Lock, About: "it cannot be removed",
		Column: Layout{Title: "lock", Min: 8},
		Lock:   func(d api.Document) api.Lock { return d.Lock }},
	Field[api.Document]{Name: "description", JSON: "info", Kind: Text, About: "a part of the description",
		Example: "description:signed", Column: Layout{Min: 11, Flex: 2, HidePriority: 8, Dim: true},
		Text: func(d api.Document) untrusted.Text { return d.Info }},
)

// Files are the fields of a file in a customer's store.
var Files = New(
	Field[api.CustomerFile]{Name: "name", Aliases: []string{"file"}, JSON: "fileName", Kind: Text, Sortable: true,
		About: "a part of the file's name", Example: "name:passport",
		Column: Layout{Min: 30, Flex: 3, CutMiddle: true}, Text: api.CustomerFile.Title},
	Field[api.CustomerFile]{Name: "type", JSON: "type", Kind: Code, Sortable: true, About: "the kind of document",
		Example: "type:PASSPORT",
		Column:  Layout{Min: 16, Max: 24, Flex: 1, HidePriority: 2},
		Text:    func(f api.CustomerFile) untrusted.Text { return f.Type }},
	Field[api.CustomerFile]{Name: "media", JSON: "mime", Kind: Code, About: "the media type", Example: "media:image/png",
		Column: Layout{Title: "media type", Min: 12, Max: 26, HidePriority: 7},
		Text:   func(f api.CustomerFile) untrusted.Text { return f.MIME }},
	Field[api.CustomerFile]{Name: "size", JSON: "size", Kind: Count, Bytes: true, Sortable: true, About: "bytes",
		Example: "size>100000",
		Column:  Layout{Min: 10}, Count: func(f api.CustomerFile) int { return int(f.Size) }},
	Field[api.CustomerFile]{Name: "created", JSON: "createdAt", Kind: Time, Sortable: true, About: "when it was uploaded",
		Example: "created<30d",
		Column:  Layout{Min: 16, HidePriority: 4, Dim: true},
		Time:    api.CustomerFile.Made},
	Field[api.CustomerFile]{Name: "lock", JSON: "isLock", Kind: Lock,
		About: "it cannot be deleted: yes, no, or ? where the service does not say", Example: "lock:yes",
		Column: Layout{Min: 8}, Lock: api.CustomerFile.Lock},
	Field[api.CustomerFile]{Name: "state", JSON: "status", Kind: Code, Sortable: true,
		About: "the service's word for its state", Example: "state:NEW",
		Column: Layout{Min: 8, HidePriority: 6}, Text: func(f api.CustomerFile) untrusted.Text { return f.Status }},
	Field[api.CustomerFile]{Name: "description", JSON: "info", Kind: Text, About: "a part of the description",
		Example: "description:signed",
		Text:    func(f api.CustomerFile) untrusted.Text { return f.Info }},
	Field[api.CustomerFile]{Name: "id", JSON: "id", Kind: ID, About: "the file's identifier, or its beginning",
		Example: "id:ba464e45",
		Column:  Layout{Min: 13, Max: 36, HidePriority: 5, CutMiddle: true},
		Text:    func(f api.CustomerFile) untrusted.Text { return f.ID }},
)

// IsTime reports whether a path in an operation's record, including its documents, holds a time.
func IsTime(path string) bool {
	f, rest, ok := Operations.at(path)
	if _, member, in := cutItem(path); in {
		d, after, found := Documents.at(member)
		return found && after == "" && d.Kind == Time
	}
	return ok && rest == "" && f.Kind == Time
}

// PathLabel is the name of a path in an operation's record, including its documents: "documents[g-1].locked" for
// "documents[g-1].isLock".
func PathLabel(path string) string {
	label := Operations.Label(path)
	if head, rest, ok := cutItem(label); ok {
		return head + "." + Documents.Label(rest)
	}
	return label
}

// hidden is the HidePriority of columns that are off by default.
const hidden = 10

// Names of operation fields that the index uses too.
const (
	OpID          = "id"
	OpStatus      = "status"
	OpType        = "type"
	OpPayment     = "payment"
	OpCreated     = "created"
	OpUpdated     = "updated"
	OpCurrency    = "currency"
	OpAmount      = "amount"
	OpReceived    = "received"
	OpCommission  = "commission"
	OpCustomer    = "customer"
	OpCUID        = "cuid"
	OpSource      = "source"
	OpDestination = "destination"
	OpReference   = "reference"
	OpComment     = "comment"
	OpDocuments   = "documents"
	OpParent      = "parent"
	OpVisible     = "visible"
)

// Operations are the fields of an operation, in the order of cards and CSV.
var Operations = New(
	Field[api.Operation]{Name: OpID, Aliases: []string{"opid"}, JSON: "opid", Kind: ID, Sortable: true,
		About: "the operation's identifier, or its beginning", Example: "id:5b55db86",
		Column: Layout{Min: 13, Max: 36, HidePriority: 9, Least: 8, Shows: "operation id"},
		Text:   func(o api.Operation) untrusted.Text { return o.OPID }},
	Field[api.Operation]{Name: OpStatus, JSON: "status", Kind: Code, Status: true, Sortable: true,
		About: "the service's status word", Example: "status:PENDING",
		Column: Layout{Min: 12, Max: 16, Least: 8},
		Text:   func(o api.Operation) untrusted.Text { return o.Status }},
	Field[api.Operation]{Name: OpType, JSON: "type", Kind: Code, Sortable: true,
		About: "the kind of operation", Example: "type:WITHDRAW",
		Column: Layout{Min: 8, Max: 12, HidePriority: 3, Least: 5},
		Text:   func(o api.Operation) untrusted.Text { return o.Type }},
	Field[api.Operation]{Name: OpPayment, Aliases: []string{"paymenttype"}, JSON: "paymentType", Kind: Code,
		Sortable: true,
		About:    "the payment type", Example: "payment:SWIFT", Nothing: api.NoPaymentType,
		Column: Layout{Min: 7, Max: 9, HidePriority: 7, Least: 4},
		Text:   func(o api.Operation) untrusted.Text { return o.PaymentType }},
	Field[api.Operation]{Name: OpCreated, JSON: "createdAt", Kind: Time, Sortable: true,
		About: "when it was created", Example: "created>2026-01-01",
		Column: Layout{Min: 16, HidePriority: 3, Least: 16},
		Time:   func(o api.Operation) api.Time { return o.CreatedAt }},
	Field[api.Operation]{Name: OpUpdated, JSON: "updatedAt", Kind: Time, Sortable: true,
		About: "when it last changed", Example: "updated<2h",
		Column: Layout{Min: 8, HidePriority: 9, Least: 8, Dim: true, Age: true},
		Time:   func(o api.Operation) api.Time { return o.UpdatedAt }},
	Field[api.Operation]{Name: OpCurrency, JSON: "sourceAmount.sum.currencyCode", Kind: Code, Sortable: true,
		About: "the currency that is paid", Example: "currency:EUR",
		Column: Layout{Min: 8, HidePriority: hidden, Least: 4},
		Text:   func(o api.Operation) untrusted.Text { return o.SourceAmount.Sum.CurrencyCode }},
	Field[api.Operation]{Name: OpAmount, JSON: "sourceAmount.sum", Kind: Money, Sortable: true,
		About: "the amount that is paid, exact", Example: "amount>=1000.50",
		Column: Layout{Min: 16, Least: 12, Shows: "amount paid"},
		Money:  func(o api.Operation) api.Money { return o.SourceAmount.Sum }},
	Field[api.Operation]{Name: OpReceived, JSON: "destinationAmount.sum", Kind: Money, Sortable: true,
		About: "the amount that is received, exact", Example: "received:100..500",
		Column: Layout{Min: 16, HidePriority: hidden, Least: 12, Shows: "amount received"},
		Money:  func(o api.Operation) api.Money { return o.DestinationAmount.Sum }},
	Field[api.Operation]{Name: OpCommission, Aliases: []string{"fee"}, JSON: "commissionAmount.sum", Kind: Money,
		Sortable: true,
		About:    "the commission, exact", Example: "commission>0",
		Column: Layout{Min: 10, HidePriority: hidden, Least: 10, Shows: "commission"},
		Money:  func(o api.Operation) api.Money { return o.CommissionAmount.Sum }},
	Field[api.Operation]{Name: "balance", JSON: "currentBalanceAmount.sum", Kind: Money,
		About:  "the balance after it, exact",
		Column: Layout{Min: 16, HidePriority: hidden, Least: 12, Shows: "balance after it"},
		Money:  func(o api.Operation) api.Money { return o.CurrentBalanceAmount.Sum }},
	Field[api.Operation]{Name: OpCustomer, JSON: "customer.name", Kind: Text, Sortable: true,
		About: "the customer's name, or the whole identifier", Example: "customer:acme",
		Column:   Layout{Min: 20, Max: 40, Flex: 2, Least: 6, Shows: "customer name"},
		Text:     func(o api.Operation) untrusted.Text { return o.Customer.Name },
		Reported: func(o api.Operation) bool { return o.Customer.Name != "" }},
	Field[api.Operation]{Name: OpCUID, JSON: "customer.cuid", Kind: ID,
		About:  "the customer's identifier",
		Column: Layout{Min: 13, Max: 36, HidePriority: hidden, Least: 8, Shows: "customer id"},
		Text:   func(o api.Operation) untrusted.Text { return o.Customer.CUID }},
	Field[api.Operation]{Name: OpSource, Aliases: []string{"from", "payer"}, JSON: "source", Kind: Party, Sensitive: true,
		Sortable: true,
		About:    "a name, number or bank of the side that pays", Example: "source:treasury",
		Column: Layout{Min: 12, Max: 40, Flex: 2, HidePriority: hidden, Least: 6, Shows: "name of the side that pays"},
		Text:   func(o api.Operation) untrusted.Text { return o.Source.Name() },
		Party:  func(o api.Operation) api.Party { return o.Source }},
	Field[api.Operation]{Name: OpDestination, Aliases: []string{"to", "payee"}, JSON: "destination",
		Kind: Party, Sensitive: true, Sortable: true,
		About: "a name, number or bank of the side that receives", Example: "destination:meridian",
		Column: Layout{Min: 18, Max: 40, Flex: 2, HidePriority: 5, Least: 6, Shows: "name of the side that receives"},
		Text:   func(o api.Operation) untrusted.Text { return o.Destination.Name() },
		Party:  func(o api.Operation) api.Party { return o.Destination }},
	Field[api.Operation]{Name: OpReference, Aliases: []string{"ref"}, JSON: "reference", Kind: Text, Sortable: true,
		About: "the reference", Example: "reference:INV-2026",
		Column:   Layout{Min: 12, Max: 40, Flex: 1, HidePriority: hidden, Least: 6},
		Text:     func(o api.Operation) untrusted.Text { return o.Reference },
		Reported: func(o api.Operation) bool { return api.HasText(o.Raw, "reference") }},
	Field[api.Operation]{Name: OpComment, JSON: "comment", Kind: Text,
		About: "the comment", Example: "-comment:test",
		Column:   Layout{Min: 12, Flex: 2, HidePriority: hidden, Least: 6},
		Text:     func(o api.Operation) untrusted.Text { return o.Comment },
		Reported: func(o api.Operation) bool { return api.HasText(o.Raw, "comment") }},
	Field[api.Operation]{Name: OpDocuments, Aliases: []string{"docs"}, JSON: "documents", Kind: Count, Sortable: true,
		About: "how many documents are attached", Example: "documents>=2",
		Column:   Layout{Min: 9, HidePriority: 8, Least: 4, NoZero: true},
		Count:    func(o api.Operation) int { return len(o.Documents) },
		Locks:    LocksOf,
		Reported: api.Operation.DocumentsReported},
	Field[api.Operation]{Name: OpParent, JSON: "isParent", Kind: Flag,
		About:    "it has child operations",
		Column:   Layout{Min: 6, HidePriority: hidden, Least: 4},
		Flag:     func(o api.Operation) bool { return o.IsParent },
		Reported: func(o api.Operation) bool { return api.HasFlag(o.Raw, "isParent") }},
	Field[api.Operation]{Name: OpVisible, JSON: "isVisible", Kind: Flag,
		About:    "the customer sees it",
		Column:   Layout{Min: 7, HidePriority: hidden, Least: 4},
		Flag:     func(o api.Operation) bool { return o.IsVisible },
		Reported: func(o api.Operation) bool { return api.HasFlag(o.Raw, "isVisible") }},
)

// usual are the default columns of the operations list.
var usual = []string{OpCreated, OpStatus, OpType, OpPayment, OpAmount, OpCustomer, OpDestination, OpDocuments,
	OpUpdated, OpID}

// Tariffs are the fields of a limit of payments or a commission.
var Tariffs = New(
	Field[api.Tariff]{Name: "from", JSON: "currencyIsoFrom", Kind: Code, Sortable: true,
		About: "the currency paid from, by its code", Example: "from:EUR",
		Column: Layout{Min: 4}, Text: func(t api.Tariff) untrusted.Text { return t.From }},
	Field[api.Tariff]{Name: "to", JSON: "currencyIsoTo", Kind: Code, Sortable: true,
		About: "the currency paid in, by its code", Example: "to:USD",
		Column: Layout{Min: 3, Max: 5, Flex: 1}, Text: func(t api.Tariff) untrusted.Text { return t.To }},
	Field[api.Tariff]{Name: "type", JSON: "operationType", Kind: Code, Sortable: true,
		About: "the operations that it applies to", Example: "type:WITHDRAW",
		Column: Layout{Min: 10, HidePriority: 3}, Text: func(t api.Tariff) untrusted.Text { return t.OperationType },
		Reported: anyTariff},
	Field[api.Tariff]{Name: "payment", JSON: "paymentType", Kind: Code, Sortable: true,
		About: "the payment type; EMPTY, shown as any, means every payment type of the currency", Example: "payment:SWIFT",
		Column: Layout{Min: 7, Max: 10, Flex: 1}, Text: func(t api.Tariff) untrusted.Text { return t.PaymentType },
		Says: paymentTypeOf, Reported: anyTariff},
	Field[api.Tariff]{Name: "percent", JSON: "percent", Kind: Text, About: "the share of the amount that is charged",
		Column: Layout{Min: 7, Max: 12, Align: Decimal},
		Text:   func(t api.Tariff) untrusted.Text { return untrusted.Text(t.Percent) }, Says: percentOf},
	Field[api.Tariff]{Name: "fixed", JSON: "fixed", Kind: Text, About: "what is charged in addition",
		Column: Layout{Min: 5, Max: 12, Align: Decimal},
		Text:   func(t api.Tariff) untrusted.Text { return untrusted.Text(t.Fixed) }},
	Field[api.Tariff]{Name: "cuid", JSON: "customerId", Kind: ID, Sortable: true,
		About: "the customer that it applies to, or the identifier's beginning", Example: "cuid:DqCsgSE",
		Column: Layout{Min: 13, Max: 26, Flex: 1, HidePriority: 2, CutMiddle: true},
		Text:   func(t api.Tariff) untrusted.Text { return t.CUID }, Reported: anyTariff},
	Field[api.Tariff]{Name: "id", JSON: "id", Kind: ID, About: "the rule's identifier, or its beginning", Example: "id:12",
		Column: Layout{Min: 6, Max: 26, HidePriority: 4, CutMiddle: true},
		Text:   func(t api.Tariff) untrusted.Text { return untrusted.Text(t.ID) }},
	Field[api.Tariff]{Name: "others", JSON: "others", Kind: Text, About: "other fields that the service sent",
		Example: "others:max",
		Column:  Layout{Min: 20, Flex: 3}, Text: api.Tariff.Others},
)

// anyTariff: a rule names only what limits it, so that what it does not name is no gap.
func anyTariff(api.Tariff) bool { return true }

// paymentTypeOf is the payment type in words: the service's EMPTY stands for any.
func paymentTypeOf(t api.Tariff) untrusted.Text {
	if t.PaymentType == "EMPTY" {
		return "any"
	}
	return t.PaymentType
}

// percentOf is the share with its sign; what is not a number stays as it came.
func percentOf(t api.Tariff) untrusted.Text {
	if _, _, err := apd.NewFromString(string(t.Percent)); err != nil {
		return untrusted.Text(t.Percent)
	}
	return untrusted.Text(t.Percent + " %")
}
