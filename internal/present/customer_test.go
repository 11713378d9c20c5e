package present_test

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/untrusted"
	"opdeck/internal/field"
	"opdeck/internal/present"
)

// TestOneNameOfACustomer: list, record and questions call a customer by the company, else by the person, else by the
// id; the person of a company is in the record.
func TestOneNameOfACustomer(t *testing.T) {
	for name, c := range map[string]struct {
		of           api.Customer
		says, person string
	}{
		"company and person":       {api.Customer{Company: "Acme Ltd", Name: "Ana", Lastname: "Kos"}, "Acme Ltd", "Ana Kos"},
		"company and its own name": {api.Customer{Company: "Acme Ltd", Name: "Acme Ltd"}, "Acme Ltd", ""},
		"person only":              {api.Customer{Name: "Ana", Lastname: "Kos"}, "Ana Kos", ""},
		"first name":               {api.Customer{Name: "Ana"}, "Ana", ""},
		"last name":                {api.Customer{Lastname: "Kos"}, "Kos", ""},
		"company only":             {api.Customer{Company: "Acme Ltd"}, "Acme Ltd", ""},
		"neither":                  {api.Customer{}, "Customer D1", ""},
		"hostile":                  {api.Customer{Company: apitest.Hostile, Name: "Ana"}, untrusted.Text(apitest.Hostile).Line(200), "Ana"},
	} {
		c.of.CUID = "D1"
		got := present.CustomerName("D1", c.of.DisplayName())
		if got != c.says || strings.ContainsAny(got, "\x1b\x07\n") {
			t.Errorf("%s: called %q, not %q", name, got, c.says)
		}
		if asked := present.AskedCustomer("D1", c.of)[0].Value; asked != got {
			t.Errorf("%s: a question calls it %q, not %q", name, asked, got)
		}
		listed := field.Customers.Get("name").Text(c.of)
		if present.CustomerName("D1", listed) != got {
			t.Errorf("%s: the list calls it %q, not %q", name, listed, got)
		}
		var person string
		facts := map[string]string{}
		for _, f := range present.Customer(present.Options{}, c.of)[0].Facts {
			facts[f.Label] = f.Value
		}
		if person = facts["name in record"]; person != c.person || c.of.DisplayName() != "" && facts["name"] != got {
			t.Errorf("%s: the record says %q and person %q, not %q and %q", name, facts["name"], person, got, c.person)
		}
	}
}
