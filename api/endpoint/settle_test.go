package endpoint_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// filesByPage is a customer's store whose pages hold one file each; its answer to a write
// says nothing.
type filesByPage struct {
	pages int
	sent  bool
	looks int // calls since the write
}

func (f *filesByPage) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet {
		f.sent = true
		return reply(r, 200, "text/plain", "hello", nil, false), nil
	}
	if f.sent {
		f.looks++
	}
	page := 0
	fmt.Sscan(r.URL.Query().Get("meta.page"), &page)
	body := `{"items":[],"meta":{}}`
	if page < f.pages {
		body = fmt.Sprintf(`{"items":[{"id":"file-%d","name":"a.pdf","size":6}],"meta":{}}`, page)
	}
	return reply(r, 200, "", body, nil, false), nil
}

// TestWhatALookCosts: the looks that settle a write cost four calls at most, whatever number of
// pages one reads; only the first may need more: one call for the file, and one a page.
func TestWhatALookCosts(t *testing.T) {
	for name, c := range map[string]struct {
		pages int
		file  string
		looks int
	}{
		"found on the first page":  {8, "file-0", 4},
		"found on the second page": {8, "file-1", 3},
		"found on the third page":  {8, "file-2", 4},
		"on none of too many":      {8, "file-9", 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &filesByPage{pages: c.pages}
				client, _, _ := clientOf(t, w, "https://service.invalid")
				_, err := endpoint.Do(api.WithActor(context.Background(), api.Actor{Name: "ana", Role: api.Admin}), client,
					endpoint.DeleteFile, api.DeleteFile{CUID: theCustomer, ID: c.file, Force: true})
				if api.KindOf(err) != api.UnknownOutcome || w.looks != c.looks {
					t.Errorf("%d calls, %v", w.looks, err)
				}
			})
		})
	}
}

// TestFileThatIsNotListed: the remedy speaks of the customer's files, not of an operation.
func TestFileThatIsNotListed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _, _ := clientOf(t, &filesByPage{pages: 1}, "https://service.invalid")
		_, err := endpoint.Do(api.WithActor(context.Background(), api.Actor{Name: "ana", Role: api.Admin}), client,
			endpoint.DeleteFile, api.DeleteFile{CUID: theCustomer, ID: "file-9"})
		if e := api.AsError(err); e == nil || !e.Unsent || e.Rule != api.RuleDocumentUnknown ||
			e.Remedy.Kind != api.ReloadFiles {
			t.Errorf("%+v", err)
		}
	})
}

// TestWhatIsInDoubtIsNotSentAgain: nothing is sent, no approval is spent, and the refusal says when and by whom it
// was sent and until when it blocks; a link, which is for single use, is exempt.
func TestWhatIsInDoubtIsNotSentAgain(t *testing.T) {
	for kind, do := range writes {
		w := &contrary{answer: reaction{status: 200, proper: true}, reads: "new", kind: kind}
		c, tr, fo := clientOf(t, w, "https://service.invalid")
		sent := time.Date(2026, 3, 2, 12, 0, 5, 0, time.UTC)
		fo.doubt = &api.Doubt{Ref: "ref-1", What: "Doing it", Who: "bo", Sent: sent, Until: sent.Add(15 * time.Minute)}
		err := do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), c)
		if kind == api.ActLink {
			if err != nil || w.sent != 1 {
				t.Errorf("%s: sent %d times, %v", kind, w.sent, err)
			}
			continue
		}
		e := api.AsError(err)
		if e == nil || e.Rule != api.RuleDoubt || !e.Unsent || w.sent != 0 || len(tr.outcomes) != 0 || len(fo.pending) != 0 {
			t.Errorf("%s: sent %d times, %v", kind, w.sent, err)
			continue
		}
		for _, want := range []string{"Doing it", "by bo", "12:00:05 UTC", "ref-1", "12:15:05 UTC"} {
			if !strings.Contains(e.Public, want) {
				t.Errorf("%s does not tell %s: %s", kind, want, e.Public)
			}
		}
	}
}

// TestTheOppositeInDoubt: the refusal says what was sent, and asks the follower for it.
func TestTheOppositeInDoubt(t *testing.T) {
	w := &contrary{answer: reaction{status: 200, proper: true}, reads: "new", kind: api.ActAttachDocument}
	c, tr, fo := clientOf(t, w, "https://service.invalid")
	sent := time.Date(2026, 3, 2, 12, 0, 5, 0, time.UTC)
	fo.doubt = &api.Doubt{What: "Removing a.pdf, operation op-1", Ref: "ref-1", Who: "bo",
		Sent: sent, Until: sent.Add(15 * time.Minute)}
	e := api.AsError(writes[api.ActAttachDocument](api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), c))
	const want = "Removing a.pdf, operation op-1: sent by bo at 12:00:05 UTC, and no answer says whether it was done (ref-1). It may " +
		"still arrive until 12:15:05 UTC, and until then opdeck sends nothing that repeats or undoes it."
	if e == nil || e.Rule != api.RuleDoubt || !e.Unsent || e.Public != want {
		t.Errorf("%+v", e)
	}
	if w.sent != 0 || len(tr.outcomes) != 0 || fo.asked == "" {
		t.Errorf("sent %d times, asked for %q", w.sent, fo.asked)
	}
}
