package field

import (
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Counterparties are the fields of a counterparty.
var Counterparties = New(
	Field[api.Counterparty]{Name: "name", JSON: "profile.name", Kind: Text, Sortable: true, About: "a part of the name",
		Example: "name:meridian",
		Column:  Column{Min: 16, Flex: 3}, Text: api.Counterparty.Name},
	Field[api.Counterparty]{Name: "status", JSON: "accounts.status", Kind: Code, Status: true, Sortable: true,
		About:  "the status words of its accounts",
		Column: Column{Min: 19, Max: 30, Flex: 1}, Text: statusesOf, Says: countedStatuses},
	Field[api.Counterparty]{Name: "accounts", JSON: "accounts", Kind: Count, Sortable: true,
		About: "how many accounts it has", Example: "accounts>1",
		Column:   Column{Min: 8, HidePriority: 3},
		Count:    func(p api.Counterparty) int { return len(p.Accounts) },
		Reported: func(p api.Counterparty) bool { return p.Accounts != nil }},
	Field[api.Counterparty]{Name: "customer", JSON: "customer.name", Kind: Text, Sortable: true,
		About: "a part of the name of the customer who pays it", Example: "customer:acme",
		Column: Column{Min: 12, Flex: 2, HidePriority: 1},
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
		Column:  Column{Min: 16, HidePriority: 4, Dim: true}, Time: func(p api.Counterparty) api.Time { return p.UpdatedAt }},
	Field[api.Counterparty]{Name: "id", Aliases: []string{"suid"}, JSON: "counterpartyId", Kind: ID,
		About: "the counterparty's identifier, or its beginning", Example: "id:UvYqyr",
		Column: Column{Min: 12, Max: 26, HidePriority: 2, CutMiddle: true},
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
