package endpoint

import (
	"testing"

	"opdeck/api"
)

// TestProofIsReadAsRecordsAre: a proof finds its object in each answer in which a read finds it.
func TestProofIsReadAsRecordsAre(t *testing.T) {
	const (
		op    = `{"opid":"o","documents":[{"guid":"g"}]}`
		apply = `{"individual":{"name":"A","data":{"x":1}}}`
		hooks = `{"enabled":true,"hookUrl":"https://x","jwtSecret":"s"}`
	)
	probes := map[string]api.Probe{
		op:    {Kind: api.ActAttachDocument, OPID: "o", GUID: "g"},
		apply: {Kind: api.ActSetApplication, Salt: "s", Leaves: leavesOf(api.ParseJSON([]byte(apply)), "", "s")},
		hooks: {Kind: api.ActSetHooks, Salt: "s", Leaves: hookLeaves("s", "s", api.ObjectOf([]byte(hooks)))},
	}
	for record, p := range probes {
		for shape, proves := range map[[2]string]bool{{"", ""}: true, {`{"item":`, `}`}: true,
			{`{"code":0,"msg":"ok","data":{"item":`, `}}`}: true, {`{"item":[`, `]}`}: true,
			{`{"item":[`, `,{}]}`}: false, {`{"data":{"type":"t","id":"o","attributes":`, `}}`}: false,
			{`{"result":`, `}`}: false, {`{"operation":`, `}`}: false, {`{"data":{"data":{"data":`, `}}}`}: false} {
			body := shape[0] + record + shape[1]
			if got := Rule(p.Kind).Proves(p, api.ObjectOf([]byte(body)), false); got != proves {
				t.Errorf("%s is proven by %s: %t", p.Kind, body, got)
			}
		}
		if Rule(p.Kind).Proves(p, api.ObjectOf([]byte(`{"item":{"opid":"x","documents":[{"guid":"g"}]}}`)), false) {
			t.Errorf("%s is proven by another operation", p.Kind)
		}
	}
}

// TestDocumentsThatAreNotListed: documents that the answer does not list are not "not attached".
func TestDocumentsThatAreNotListed(t *testing.T) {
	w := &Wire{client: new(api.Client)}
	for in, want := range map[string]api.Rule{`{"opid":"o","documents":null}`: "", `{"opid":"o"}`: "",
		`{"opid":"o","documents":["x"]}`:          "",
		`{"opid":"o","documents":[]}`:             api.RuleNotAttached,
		`{"opid":"o","documents":[{"guid":"h"}]}`: api.RuleNotAttached} {
		o, err := api.ReadOperation([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		e := api.AsError(w.mayRemove(o, api.RemoveDocument{OPID: "o", GUID: "g"}))
		if e == nil || !e.Unsent || e.Rule != want {
			t.Errorf("%s: %+v", in, e)
		}
	}
}
