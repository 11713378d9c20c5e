package sandbox_test

import (
	"strings"
	"testing"

	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

func documents(o map[string]any) []map[string]any {
	var list []map[string]any
	for _, d := range o["documents"].([]any) {
		list = append(list, d.(map[string]any))
	}
	return list
}

func path(opid, document string) string {
	return "/v2/billing/operation/" + opid + "/document/" + document
}

func TestRefusedRemovals(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	open, ended := c.operation(0), c.operation(1)
	opid, endedID := open["opid"].(string), ended["opid"].(string)
	locked := documents(open)[2]["guid"].(string)
	foreign := documents(ended)[0]["guid"].(string)
	unknown := "11111111-2222-4333-8444-555555555555"
	tests := []struct {
		name, opid, document string
		status               int
		text                 string
	}{
		{"unknown operation", unknown, foreign, 404, "Operation not found: " + unknown},
		{"unknown document", opid, unknown, 404, "Document not found: " + unknown},
		{"no id at all", opid, "scan.pdf", 404, "Document not found: scan.pdf"},
		{"not attached", opid, foreign, 409, "Document " + foreign + " is not attached to operation " + opid},
		{"ended", endedID, foreign, 409, "Cannot modify documents for completed operations"},
		{"locked", opid, locked, 423, "Document is locked and cannot be removed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := c.do("DELETE", path(tt.opid, tt.document), nil)
			if r.status != tt.status || r.json(t)["error"] != tt.text || len(r.json(t)) != 1 {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	if n := len(documents(c.operation(0))); n != 3 {
		t.Errorf("%d documents left of 3", n)
	}
	trail, err := s.Removals(t.Context())
	if err != nil || len(trail) != len(tests) || !strings.HasPrefix(trail[0].Outcome, "refused: ") {
		t.Errorf("trail %+v, %v", trail, err)
	}
}

func TestRemovalTakesTheLinkOnly(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	before := c.operation(0)
	opid, doc := before["opid"].(string), documents(before)[0]["guid"].(string)
	after := c.want(200, "DELETE", path(opid, doc), nil)["item"].(map[string]any)
	if n := len(documents(after)); n != 2 {
		t.Errorf("%d documents in the answer", n)
	}
	if after["updatedAt"] == before["updatedAt"] {
		t.Error("updatedAt did not move")
	}
	if r := c.do("DELETE", path(opid, doc), nil); r.status != 409 ||
		!strings.Contains(string(r.body), "is not attached to operation") {
		t.Errorf("second removal: %d %s", r.status, r.body)
	}
	cuid := before["customer"].(map[string]any)["cuid"].(string)
	if r := c.do("GET", "/v2/customer/"+cuid+"/file/"+doc, nil); r.status != 200 {
		t.Errorf("the document is gone: %d", r.status)
	}
	back := c.want(200, "POST", "/v2/billing/operation/"+opid+"/document",
		map[string]string{"documentId": doc, "name": "Back again.pdf"})["item"].(map[string]any)
	found := false
	for _, d := range documents(back) {
		found = found || d["guid"] == doc && d["fileName"] == "Back again.pdf"
	}
	if !found {
		t.Errorf("put back: %v", back["documents"])
	}
	trail, err := s.Removals(t.Context())
	if err != nil || len(trail) != 2 || trail[0].Outcome != "removed" || trail[0].Opid != opid ||
		trail[0].Document != doc || trail[0].Login != sandbox.DefaultLogin {
		t.Errorf("trail %+v, %v", trail, err)
	}
}

func TestRemovingTheLastLeavesAnEmptyList(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	o := c.operation(0)
	var last map[string]any
	for _, d := range documents(o) {
		unlock := false
		if err := s.Change(t.Context(), faulty.Change{Kind: "document", ID: d["guid"].(string), Lock: &unlock}); err != nil {
			t.Fatal(err)
		}
		last = c.want(200, "DELETE", path(o["opid"].(string), d["guid"].(string)), nil)
	}
	if list, isList := last["item"].(map[string]any)["documents"].([]any); !isList || len(list) != 0 {
		t.Errorf("documents %v", last["item"].(map[string]any)["documents"])
	}
}

func TestEndStates(t *testing.T) {
	s := open(t, sandbox.Options{})
	c := connect(t, s).login()
	o := c.operation(0)
	opid, doc := o["opid"].(string), documents(o)[0]["guid"].(string)
	for _, status := range []string{"SUCCESS", "COMPLETED", "FAILED", "CANCELED"} {
		if err := s.Change(t.Context(), faulty.Change{Kind: "operation", ID: opid, Status: status}); err != nil {
			t.Fatal(err)
		}
		if r := c.do("DELETE", path(opid, doc), nil); r.status != 409 || r.json(t)["error"] != "Cannot modify documents "+
			"for completed operations" {
			t.Errorf("%s: %d %s", status, r.status, r.body)
		}
	}
}

func TestAttach(t *testing.T) {
	c := connect(t, open(t, sandbox.Options{})).login()
	o, ended := c.operation(0), c.operation(1)
	opid := o["opid"].(string)
	cuid := o["customer"].(map[string]any)["cuid"].(string)
	file := func(cuid string) string {
		var free string
		for _, f := range c.want(200, "GET", "/v2/customer/"+cuid+"/file?meta.pageSize=100", nil)["items"].([]any) {
			if m := f.(map[string]any); !strings.HasPrefix(m["createAt"].(string), "x") {
				free = m["id"].(string) // the oldest ones are attached nowhere
			}
		}
		return free
	}
	own, other := upload(c, cuid, "note.txt", "text/plain", []byte("hello"), nil).json(t)["id"].(string),
		file(c.cuid("Ana"))
	tests := []struct {
		name   string
		opid   string
		body   any
		status int
		text   string
	}{
		{"no id", opid, map[string]string{}, 400, "documentId is required"},
		{"unknown operation", "x", map[string]string{"documentId": own}, 404, "Operation not found: x"},
		{"unknown document", opid, map[string]string{"documentId": "y"}, 404, "Document not found: y"},
		{"attached already", opid, map[string]string{"documentId": documents(o)[0]["guid"].(string)}, 409,
			"Document " + documents(o)[0]["guid"].(string) + " is already attached to operation " + opid},
		{"of another customer", opid, map[string]string{"documentId": other}, 409,
			"Document " + other + " belongs to another customer"},
		{"ended", ended["opid"].(string), map[string]string{"documentId": own}, 409,
			"Cannot modify documents for completed operations"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := c.do("POST", "/v2/billing/operation/"+tt.opid+"/document", tt.body)
			if r.status != tt.status || r.json(t)["error"] != tt.text {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	v := c.want(200, "POST", "/v2/billing/operation/"+opid+"/document", map[string]string{"documentId": own})
	if n := len(documents(v["item"].(map[string]any))); n != 4 {
		t.Errorf("%d documents", n)
	}
}
