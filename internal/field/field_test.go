package field

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
)

// TestEachFieldIsWhole: a field has a sentence, the getter of its kind, and a
// place in the service's record.
func TestEachFieldIsWhole(t *testing.T) {
	check(t, "operation", Operations, apitest.Operation(map[string]any{}))
	check(t, "customer", Customers, api.Customer{})
	check(t, "document", Documents, api.Document{})
	check(t, "account", Accounts, api.Account{})
	check(t, "tariff", Tariffs, api.Tariff{})
	check(t, "counterparty", Counterparties, api.Counterparty{})
	check(t, "a side's account", PartyAccounts, api.PartyAccount{})
	check(t, "a side's counterparty account", CounterpartyAccounts, api.CounterpartyAccount{})
	raw, err := json.Marshal(apitest.Operation(map[string]any{}))
	var record map[string]any
	if err != nil || json.Unmarshal(raw, &record) != nil {
		t.Fatal(err)
	}
	for _, f := range Operations.All() {
		if top, _, _ := strings.Cut(f.JSON, "."); record[top] == nil {
			t.Errorf("%s: the service's record has no %s", f.Name, f.JSON)
		}
	}
}

func check[T any](t *testing.T, of string, c *Catalogue[T], record T) {
	t.Helper()
	for _, f := range c.All() {
		if f.Name != strings.ToLower(f.Name) || f.JSON == "" || f.About == "" {
			t.Errorf("%s: %q is not whole", of, f.Name)
		}
		if f.Column.Least > f.Column.Min {
			t.Errorf("%s: %s is %d wide, and %d at least", of, f.Name, f.Column.Min, f.Column.Least)
		}
		if again, ok := c.Find(f.Name); !ok || again.Name != f.Name {
			t.Errorf("%s: %s is not found", of, f.Name)
		}
		switch f.Kind { // panics without its getter
		case Money:
			f.Money(record)
		case Time:
			f.Time(record)
		case Count:
			f.Count(record)
		case Flag:
			f.Flag(record)
		case Lock:
			f.Lock(record)
		case Party:
			f.Party(record)
			f.Text(record)
		default:
			f.Text(record)
		}
	}
}

// TestAliases are understood in columns, filters and orders.
func TestAliases(t *testing.T) {
	for alias, name := range map[string]string{"paymenttype": "payment", "fee": "commission", "docs": "documents", "from": "source", "to": "destination", "opid": "id"} {
		if f, ok := Operations.Find(alias); !ok || f.Name != name {
			t.Errorf("%s is %s, not %s", alias, f.Name, name)
		}
	}
}

func TestLabels(t *testing.T) {
	for path, want := range map[string]string{
		"sourceAmount.sum": "amount", "sourceAmount.default": "sourceAmount.default", "paymentType": "payment", "createdAt": "created",
		"customer.name": "customer", "customer.cuid": "cuid", "source.account.number": "source.account.number", "commissionAmount.sum": "commission",
		"documents[g-1].isLock": "documents[g-1].locked", "documents[g-1].x": "documents[g-1].x", "statusText": "statusText", "isVisible": "visible", "odd": "odd",
	} {
		if got := PathLabel(path); got != want {
			t.Errorf("%s is called %s, not %s", path, got, want)
		}
	}
}

func TestAChoiceIsReadAsItWasWritten(t *testing.T) {
	in := []string{"created", "amount:24", "documents!", "commission", "comment:40"}
	list, err := ParseColumns([]string{"created", "amount:24", "docs!", "fee", "comment:40"})
	if err != nil {
		t.Fatal(err)
	}
	want := []Choice{{Name: "created"}, {Name: "amount", Width: 24}, {Name: "documents", Kept: true}, {Name: "commission"}, {Name: "comment", Width: 40}}
	if !slices.Equal(list, want) {
		t.Errorf("%v", list)
	}
	if out := ColumnStrings(list); !slices.Equal(out, in) {
		t.Errorf("written as %v", out)
	}
	for i, wanted := range []bool{false, true, true, true, true} {
		if list[i].Wanted() != wanted {
			t.Errorf("%s is wanted: %v", list[i], !wanted)
		}
	}
	if s := (Choice{Name: "commission", Kept: true}).String(); s != "commission" { // it is wanted as it is
		t.Errorf("written as %s", s)
	}
}

func TestMistakesInAChoice(t *testing.T) {
	for in, want := range map[string]string{
		"colour":         `there is no column "colour"; use one of created, `,
		"":               `there is no column ""`,
		"created:3":      "the width of created must be from 16 to 200",
		"amount:x":       "the width of amount must be",
		"amount:201":     "to 200",
		"fee,commission": "the column commission is listed twice",
		"fee!,fee:20":    "is listed twice",
		"amount:24:8":    "the width of amount",
		"\x1b[2Jcreated": `there is no column "\x1b[2Jcreated"`,
	} {
		if _, err := ParseColumns(strings.Split(in, ",")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives %v, want %s", in, err, want)
		}
	}
	if list, err := ParseColumns(nil); list != nil || err != nil {
		t.Errorf("no entries give %v, %v", list, err)
	}
	if again, err := ParseColumns(ColumnStrings(UsualColumns())); err != nil || !slices.Equal(again, UsualColumns()) {
		t.Errorf("%v, %v", again, err)
	}
}
