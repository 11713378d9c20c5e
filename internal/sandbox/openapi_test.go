package sandbox

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"opdeck/api"
	"opdeck/internal/field"
)

const contractFile = "../../api/openapi.yaml"

var wildcard = regexp.MustCompile(`\{(\w+)\}`)

// TestContractIsTheRouteTable: the document and the service have the same endpoints.
func TestContractIsTheRouteTable(t *testing.T) {
	loader := openapi3.NewLoader()
	doc, err := loader.LoadFromFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(loader.Context); err != nil {
		t.Fatal(err)
	}
	var documented, served []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, wildcard.ReplaceAllString(method+" "+path, "{}"))
		}
	}
	for _, r := range table() {
		if r.class != classPage {
			served = append(served, wildcard.ReplaceAllString(r.pattern, "{}"))
		}
	}
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(documented, served) {
		t.Errorf("documented %s\nserved %s", strings.Join(documented, "\n"), strings.Join(served, "\n"))
	}
}

// TestHooksFollowTheContract checks a body of each type against the document.
func TestHooksFollowTheContract(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	// A receiver that never answers: the bodies stay in the outbox.
	s, err := Open(t.Context(), Options{HookURL: "http://127.0.0.1:1/"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, ch := range contractChanges(t, s) {
		if err := s.Alter(t.Context(), func(tx Tx) error { return tx.Raise(ch[0], ch[1]) }); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := s.db.QueryContext(t.Context(), `SELECT body FROM outbox`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	types := map[any]bool{}
	for rows.Next() {
		var body string
		if err := rows.Scan(&body); err != nil {
			t.Fatal(err)
		}
		var v map[string]any
		if err := json.Unmarshal([]byte(body), &v); err != nil {
			t.Fatal(err)
		}
		types[v["hook_type"]] = true
		if err := doc.Components.Schemas["Hook"].Value.VisitJSON(v); err != nil {
			t.Errorf("%s: %v", body, err)
		}
	}
	if len(types) != 5 {
		t.Errorf("types %v", types)
	}
}

func contractChanges(t *testing.T, s *Service) [][2]string {
	t.Helper()
	ops, err := queryOperations(t.Context(), s.db, `ORDER BY o.n LIMIT 25`)
	if err != nil {
		t.Fatal(err)
	}
	o := ops[0]
	list := [][2]string{{"customer", o.customer.Cuid}, {"account", o.account.ID}, {"requisite", o.account.ID},
		{"counterparty", o.payee.CounterpartyID}}
	for _, o := range ops {
		list = append(list, [2]string{"operation", o.opid(0)})
	}
	return list
}

// TestDollars: the "default" amounts of webhooks are exact to the cent.
func TestDollars(t *testing.T) {
	for _, tt := range []struct{ in, want money }{
		{money{"USD", "12", 340_000_000}, money{"USD", "12", 340_000_000}},
		{money{"EUR", "100", 0}, money{"USD", "108", 0}},
		{money{"EUR", "-1234", -560_000_000}, money{"USD", "-1333", -320_000_000}},
		{money{"BTC", "0", 10_000_000}, money{"USD", "600", 0}},
		{money{"XQZ", "5", 0}, money{"USD", "0", 0}},
	} {
		if got := tt.in.inDollars(); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.in, got, tt.want)
		}
	}
}

// TestDocumentTypesAreTheContract: the names in the document are those of api.
func TestDocumentTypesAreTheContract(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	kind := doc.Components.Schemas["Application"].Value.Properties["documents"].Value.Items.Value.Properties["type"].Value
	var known []string
	for _, name := range kind.Extensions["x-known-values"].([]any) {
		known = append(known, name.(string))
	}
	if !slices.Equal(known, api.ApplicationDocumentTypes()) || len(known) != 26 {
		t.Errorf("documented %v", known)
	}
}

// TestFieldsAreInTheContract: what the catalogue reads of an operation is documented.
func TestFieldsAreInTheContract(t *testing.T) {
	doc, err := openapi3.NewLoader().LoadFromFile(contractFile)
	if err != nil {
		t.Fatal(err)
	}
	documented := doc.Components.Schemas["Operation"].Value.Properties
	for _, f := range field.Operations.All() {
		if member, _, _ := strings.Cut(f.JSON, "."); documented[member] == nil {
			t.Errorf("%s: the schema Operation in api/openapi.yaml has no %s", f.Name, member)
		}
	}
}
