package api

import "testing"

// TestProofIsReadAsRecordsAre: a proof finds its object in each answer in which a read finds it.
func TestProofIsReadAsRecordsAre(t *testing.T) {
	const (
		op    = `{"opid":"o","documents":[{"guid":"g"}]}`
		apply = `{"individual":{"name":"A","data":{"x":1}}}`
		hooks = `{"enabled":true,"hookUrl":"https://x","jwtSecret":"s"}`
	)
	probes := map[string]Probe{
		op:    {Kind: ActAttachDocument, OPID: "o", GUID: "g"},
		apply: {Kind: ActSetApplication, Salt: "s", Leaves: leavesOf(parsed([]byte(apply)), "", "s")},
		hooks: {Kind: ActSetHooks, Salt: "s", Leaves: hookLeaves("s", "s", object([]byte(hooks)))},
	}
	for record, p := range probes {
		for _, shape := range [][2]string{{"", ""}, {`{"item":`, `}`}, {`{"code":0,"msg":"ok","data":{"item":`, `}}`},
			{`{"data":{"type":"t","id":"o","attributes":`, `}}`}, {`{"result":{"payload":`, `}}`}} {
			body := shape[0] + record + shape[1]
			if !p.shown(object([]byte(body)), false) {
				t.Errorf("%s is not proven by %s", p.Kind, body)
			}
		}
		if p.shown(object([]byte(`{"item":{"opid":"x","documents":[{"guid":"g"}]}}`)), false) {
			t.Errorf("%s is proven by another operation", p.Kind)
		}
	}
}
