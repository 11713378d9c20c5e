package field

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

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
		Column: Column{Min: 13, Max: 36, HidePriority: 9, Least: 8, Shows: "operation id"},
		Text:   func(o api.Operation) untrusted.Text { return o.OPID }},
	Field[api.Operation]{Name: OpStatus, JSON: "status", Kind: Code, Status: true, Sortable: true,
		About: "the service's status word", Example: "status:PENDING",
		Column: Column{Min: 12, Max: 16, Least: 8},
		Text:   func(o api.Operation) untrusted.Text { return o.Status }},
	Field[api.Operation]{Name: OpType, JSON: "type", Kind: Code, Sortable: true,
		About: "the kind of operation", Example: "type:WITHDRAW",
		Column: Column{Min: 8, Max: 12, HidePriority: 3, Least: 5},
		Text:   func(o api.Operation) untrusted.Text { return o.Type }},
	Field[api.Operation]{Name: OpPayment, Aliases: []string{"paymenttype"}, JSON: "paymentType", Kind: Code,
		Sortable: true,
		About:    "the payment type", Example: "payment:SWIFT", Nothing: api.NoPaymentType,
		Column: Column{Min: 7, Max: 9, HidePriority: 7, Least: 4},
		Text:   func(o api.Operation) untrusted.Text { return o.PaymentType }},
	Field[api.Operation]{Name: OpCreated, JSON: "createdAt", Kind: Time, Sortable: true,
		About: "when it was created", Example: "created>2026-01-01",
		Column: Column{Min: 16, HidePriority: 3, Least: 16},
		Time:   func(o api.Operation) api.Time { return o.CreatedAt }},
	Field[api.Operation]{Name: OpUpdated, JSON: "updatedAt", Kind: Time, Sortable: true,
		About: "when it last changed", Example: "updated<2h",
		Column: Column{Min: 8, HidePriority: 9, Least: 8, Dim: true, Age: true},
		Time:   func(o api.Operation) api.Time { return o.UpdatedAt }},
	Field[api.Operation]{Name: OpCurrency, JSON: "sourceAmount.sum.currencyCode", Kind: Code, Sortable: true,
		About: "the currency that is paid", Example: "currency:EUR",
		Column: Column{Min: 8, HidePriority: hidden, Least: 4},
		Text:   func(o api.Operation) untrusted.Text { return o.SourceAmount.Sum.CurrencyCode }},
	Field[api.Operation]{Name: OpAmount, JSON: "sourceAmount.sum", Kind: Money, Sortable: true,
		About: "the amount that is paid, exact", Example: "amount>=1000.50",
		Column: Column{Min: 16, Least: 12, Shows: "amount paid"},
		Money:  func(o api.Operation) api.Money { return o.SourceAmount.Sum }},
	Field[api.Operation]{Name: OpReceived, JSON: "destinationAmount.sum", Kind: Money, Sortable: true,
		About: "the amount that is received, exact", Example: "received:100..500",
		Column: Column{Min: 16, HidePriority: hidden, Least: 12, Shows: "amount received"},
		Money:  func(o api.Operation) api.Money { return o.DestinationAmount.Sum }},
	Field[api.Operation]{Name: OpCommission, Aliases: []string{"fee"}, JSON: "commissionAmount.sum", Kind: Money,
		Sortable: true,
		About:    "the commission, exact", Example: "commission>0",
		Column: Column{Min: 10, HidePriority: hidden, Least: 10, Shows: "commission"},
		Money:  func(o api.Operation) api.Money { return o.CommissionAmount.Sum }},
	Field[api.Operation]{Name: "balance", JSON: "currentBalanceAmount.sum", Kind: Money,
		About:  "the balance after it, exact",
		Column: Column{Min: 16, HidePriority: hidden, Least: 12, Shows: "balance after it"},
		Money:  func(o api.Operation) api.Money { return o.CurrentBalanceAmount.Sum }},
	Field[api.Operation]{Name: OpCustomer, JSON: "customer.name", Kind: Text, Sortable: true,
		About: "the customer's name, or the whole identifier", Example: "customer:acme",
		Column: Column{Min: 20, Max: 40, Flex: 2, Least: 6, Shows: "customer name"},
		Text:   func(o api.Operation) untrusted.Text { return o.Customer.Name }},
	Field[api.Operation]{Name: "cuid", JSON: "customer.cuid", Kind: ID,
		About:  "the customer's identifier",
		Column: Column{Min: 13, Max: 36, HidePriority: hidden, Least: 8, Shows: "customer id"},
		Text:   func(o api.Operation) untrusted.Text { return o.Customer.CUID }},
	Field[api.Operation]{Name: OpSource, Aliases: []string{"from"}, JSON: "source", Kind: Party, Sensitive: true,
		Sortable: true,
		About:    "a name, number or bank of the side that pays", Example: "source:treasury",
		Column: Column{Min: 12, Max: 40, Flex: 2, HidePriority: hidden, Least: 6, Shows: "name of the side that pays"},
		Text:   func(o api.Operation) untrusted.Text { return o.Source.Name() },
		Party:  func(o api.Operation) api.Party { return o.Source }},
	Field[api.Operation]{Name: OpDestination, Aliases: []string{"to"}, JSON: "destination", Kind: Party, Sensitive: true,
		Sortable: true,
		About:    "a name, number or bank of the side that receives", Example: "destination:meridian",
		Column: Column{Min: 18, Max: 40, Flex: 2, HidePriority: 5, Least: 6, Shows: "name of the side that receives"},
		Text:   func(o api.Operation) untrusted.Text { return o.Destination.Name() },
		Party:  func(o api.Operation) api.Party { return o.Destination }},
	Field[api.Operation]{Name: OpReference, Aliases: []string{"ref"}, JSON: "reference", Kind: Text, Sortable: true,
		About: "the reference", Example: "reference:INV-2026",
		Column: Column{Min: 12, Max: 40, Flex: 1, HidePriority: hidden, Least: 6},
		Text:   func(o api.Operation) untrusted.Text { return o.Reference }},
	Field[api.Operation]{Name: OpComment, JSON: "comment", Kind: Text,
		About: "the comment", Example: "-comment:test",
		Column: Column{Min: 12, Flex: 2, HidePriority: hidden, Least: 6},
		Text:   func(o api.Operation) untrusted.Text { return o.Comment }},
	Field[api.Operation]{Name: OpDocuments, Aliases: []string{"docs"}, JSON: "documents", Kind: Count, Sortable: true,
		About: "how many documents are attached", Example: "documents>=2",
		Column:   Column{Min: 9, HidePriority: 8, Least: 4, NoZero: true},
		Count:    func(o api.Operation) int { return len(o.Documents) },
		Locks:    LocksOf,
		Reported: api.Operation.DocumentsReported},
	Field[api.Operation]{Name: OpParent, JSON: "isParent", Kind: Flag,
		About:    "it has child operations",
		Column:   Column{Min: 6, HidePriority: hidden, Least: 4},
		Flag:     func(o api.Operation) bool { return o.IsParent },
		Reported: func(o api.Operation) bool { return api.HasFlag(o.Raw, "isParent") }},
	Field[api.Operation]{Name: OpVisible, JSON: "isVisible", Kind: Flag,
		About:    "the customer sees it",
		Column:   Column{Min: 7, HidePriority: hidden, Least: 4},
		Flag:     func(o api.Operation) bool { return o.IsVisible },
		Reported: func(o api.Operation) bool { return api.HasFlag(o.Raw, "isVisible") }},
)

// usual are the default columns of the operations list.
var usual = []string{OpCreated, OpStatus, OpType, OpPayment, OpAmount, OpCustomer, OpDestination, OpDocuments,
	OpUpdated, OpID}
