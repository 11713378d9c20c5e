package endpoint_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// TestEveryWriteIsProven: each write has a proof, and an answer that proves nothing is
// none, neither of the write itself nor of a read.
func TestEveryWriteIsProven(t *testing.T) {
	for _, r := range endpoint.All() {
		if !r.Writes() {
			continue
		}
		if r.Write.Shown == nil {
			t.Errorf("%s has no proof", r.Kind)
			continue
		}
		for _, body := range []string{``, `{}`, `{"message":"OK"}`, `{"status":"queued"}`,
			`{"success":false,"applied":false}`, `{"item":{}}`, `{"items":[]}`,
			`{"item":{"opid":"other","documents":[]}}`, `{"data":{"ok":true}}`, `{"error":"no"}`} {
			for _, answer := range []bool{true, false} {
				p := api.Probe{Kind: r.Kind, OPID: theOp, CUID: theCustomer, GUID: theDoc, FileName: "a.pdf", Size: 6, Salt: "s",
					Leaves: []string{"x"}}
				if r.Write.Shown(p, api.ObjectOf([]byte(body)), answer) {
					t.Errorf("%s is proven by %q (its own answer: %t)", r.Kind, body, answer)
				}
			}
		}
	}
}

// TestOppositesAreMutual: what undoes a write is undone by it; what replaces all of an object undoes itself. None may
// be sent twice, and a read shows what they are about.
func TestOppositesAreMutual(t *testing.T) {
	pairs := 0
	for _, r := range endpoint.Writes() {
		if r.Write.Opposite == "" {
			continue
		}
		pairs++
		other := endpoint.Of(r.Write.Opposite)
		switch {
		case other == nil || other.Write == nil || other.Write.Opposite != r.Kind:
			t.Errorf("the opposite of %s is %s, and not the other way round", r.Kind, r.Write.Opposite)
		case r.Write.Again || r.Write.Look == nil:
			t.Errorf("the gate cannot keep %s from its opposite: %+v", r.Kind, r.Write)
		}
	}
	if pairs == 0 {
		t.Error("no write has an opposite")
	}
}

// TestEveryWriteHasASample: the tests of writes and answers try every write.
func TestEveryWriteHasASample(t *testing.T) {
	for _, r := range endpoint.All() {
		if r.Writes() && writes[r.Kind] == nil {
			t.Errorf("%s has no sample: add one to writes, and its good answer", r.Kind)
		}
		if r.Writes() && (r.Write.Look == nil) != slices.Contains(unreadable, r.Kind) {
			t.Errorf("%s has a Look: %t; unreadable lists the writes that have none", r.Kind, r.Write.Look != nil)
		}
	}
}

// saysNothing are the statuses that say nothing about a write.
func saysNothing(status int) bool {
	return slices.Contains([]int{408, 425, 499, 502, 503, 504}, status) || status < 200 || status >= 300 && status < 400
}

// FuzzAnswer: no answer makes a write panic, and none is done or refused against the rule
// of statuses.
func FuzzAnswer(f *testing.F) {
	for _, b := range []string{``, `{}`, `null`, `[]`, `{"item":{"opid":"op-1","documents":[]}}`,
		`{"success":"true","error":{"message":["x"]}}`,
		`{"applied":true,"outstanding":"x"}`, `{"errors":[{"errors":[{"errors":[]}]}]}`, `{"url":"https://x"}`,
		"\xef\xbb\xbf{\"id\":7}"} {
		f.Add(200, []byte(b))
		f.Add(500, []byte(b))
	}
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		for kind, do := range writes {
			w := &contrary{answer: reaction{status: status, body: string(body)}, reads: "fail", kind: kind}
			tr := &trail{}
			c, err := endpoint.New(api.Options{BaseURL: "https://service.invalid", Transport: w, Session: plainSession{}.Do,
				Timeout: callTime, Now: time.Now,
				Gate: &api.Gate{Audit: tr, Now: time.Now}, Sleep: func(context.Context, time.Duration) error { return nil }})
			if err != nil {
				t.Fatal(err)
			}
			err = do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), c)
			if len(tr.outcomes) != 1 {
				t.Fatalf("%s: %d outcomes, %v", kind, len(tr.outcomes), err)
			}
			out := tr.outcomes[0]
			switch {
			case (out.Verdict == api.Done) == errors.As(err, new(*api.Error)):
				t.Fatalf("%s: %s and %v", kind, out.Verdict, err)
			case status == http.StatusUnauthorized:
			case out.Verdict == api.Done && (status < 200 || status > 299):
				t.Fatalf("%s is done at %d: %s", kind, status, body)
			case out.Verdict == api.Denied && saysNothing(status):
				t.Fatalf("%s is refused at %d: %s", kind, status, body)
			case out.Verdict == api.Failed && status != 0:
				t.Fatalf("what was sent counts as not sent: %s", body)
			}
		}
	})
}

// TestWhatWasAttached: an attachment is proven by its own id or by a new element, compared with
// the list that was read before, and the id of that element is what the write made.
func TestWhatWasAttached(t *testing.T) {
	const link, other = `{"guid":"link-7","fileName":"a.pdf"}`, `{"guid":"other"}`
	for name, c := range map[string]struct {
		docs           string
		blind          bool // what was there before is not known
		answered, read string
	}{
		"its own id":                   {docs: other + `,{"guid":"DOC-1"}`, answered: "DOC-1", read: "DOC-1"},
		"the only new element":         {docs: other + `,` + link, answered: "link-7"},
		"a new one of another name":    {docs: other + `,{"guid":"link-7","fileName":"b.pdf"}`},
		"a new one that names it":      {docs: `{"guid":"link-7","documentId":"doc-1"},` + other, answered: "link-7", read: "link-7"},
		"that, and a colleague's":      {docs: `{"guid":"l-8"},{"guid":"link-7","fileId":"doc-1"}`, answered: "link-7", read: "link-7"},
		"two new ones":                 {docs: link + `,{"guid":"link-8","fileName":"a.pdf"}`},
		"nothing new":                  {docs: other},
		"nothing known of what was":    {docs: other + `,` + link, blind: true},
		"an element that has no id":    {docs: other + `,{"fileName":"a.pdf"}`},
		"an old one that names it not": {docs: `{"guid":"other","fileName":"a.pdf"}`},
	} {
		t.Run(name, func(t *testing.T) {
			p := api.Probe{Kind: api.ActAttachDocument, OPID: theOp, GUID: theDoc, FileName: "a.pdf", Before: []string{"OTHER"},
				Whole: !c.blind}
			body := api.ObjectOf([]byte(`{"item":{"opid":"` + theOp + `","documents":[` + c.docs + `]}}`))
			proof := endpoint.AttachDocument.Write
			for answer, want := range map[bool]string{true: c.answered, false: c.read} {
				if got := proof.Found(p, body, answer); got != want || proof.Shown(p, body, answer) != (want != "") {
					t.Errorf("its own answer %t: %q, want %q", answer, got, want)
				}
			}
		})
	}
}
