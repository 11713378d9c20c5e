package events

import (
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/verdict/verdicttest"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// troubled is a feed of which something was rejected, and something waits.
func troubled() *fake {
	f := full()
	f.rows[0].Retry = receiver.Retry{Key: f.rows[0].Key, Tries: 3, Reason: "store: the index is held by another process for too long", First: noon.Add(-2 * time.Minute), Last: noon.Add(-time.Minute), Next: noon.Add(time.Minute)}
	hs512 := "HS512 is not allowed: [webhooks] algorithms lists HS256."
	f.bad = receiver.Trouble{Backlog: receiver.Backlog{Waiting: 1, Oldest: noon, Next: noon.Add(time.Minute), Reason: f.rows[0].Retry.Reason},
		Rejected: []receiver.RejectCount{
			{Reason: "stray", N: 40, First: noon, Last: noon.Add(-time.Second), Detail: "It came to another path: [webhooks] path is /hooks.", Source: "198.51.100.9"},
			{Reason: "algorithm", N: 12, First: noon, Last: noon.Add(-time.Minute), Detail: hs512, Source: "192.0.2.1"},
			{Reason: "signature", N: 2, First: noon, Last: noon.Add(-time.Hour), Detail: "The signature does not match: the service's jwtSecret and the secret of [webhooks] differ.", Source: "192.0.2.1"}}}
	f.rejected = []receiver.Rejection{
		{ID: 7, At: noon.Add(-time.Minute), Status: 401, Reason: "algorithm", Detail: hs512, Source: "192.0.2.1", Algorithm: "HS512", Claims: []string{"iat", "exp"}, Request: "POST /hooks",
			Header: []receiver.HeaderField{{Name: "Authorization", Value: receiver.Redacted}, {Name: "User-Agent", Value: "sender/1"}}, Body: []byte(`{"hook_id":"x"}`), Size: 9000},
		{ID: 6, At: noon.Add(-2 * time.Minute), Status: 404, Reason: "stray", Detail: "It came to another path: [webhooks] path is /hooks.", Source: "198.51.100.9", Request: "GET /.env"}}
	return f
}

// rejects is what is known where deliveries were rejected and events wait.
func rejects() shelltest.Option {
	f := verdicttest.Incidents()["44 wrong secret"].Facts
	f.Feed.Value.Waiting, f.Feed.Value.Oldest = 1, noon.Add(-time.Minute)
	return shelltest.Found(f)
}

func TestTroubledList(t *testing.T) {
	r, _ := open(t, troubled(), here, rejects())
	golden.RequireEqual(t, []byte(r.View()))
}

func TestRejectedPage(t *testing.T) {
	f := troubled()
	r, _ := open(t, f, here)
	r.Send(uitest.Size(110, 40), uitest.Key("b"))
	golden.RequireEqual(t, []byte(r.View()))
	r.HasNot(`"hook_id"`)
	r.Send(uitest.Key("M"))
	r.Has(`"hook_id"`, "opdeck event show rejected:7 shows what is kept")
	r.Send(uitest.Key("esc"))
	r.Has("9 events")
	r, _ = open(t, &fake{}, here)
	r.Send(uitest.Key("b"))
	r.Has("No delivery was rejected.")
}

// TestWaitingEvents: what waits is found by a filter, and its page says why.
func TestWaitingEvents(t *testing.T) {
	r, _ := open(t, troubled(), here, rejects())
	r.Send(uitest.Size(120, 50), uitest.Key("/"), uitest.Type("has:waiting"), uitest.Key("enter"))
	r.Has("1 event", "! not merged")
	r.Says("1 event is not merged into the index, the oldest since 11:59:00 UTC.")
	r.Send(uitest.Key("enter"))
	r.Has("3 tries, first 2m ago", "another process for too long")
}

func TestRejectedCannotBeRead(t *testing.T) {
	f := troubled()
	r, _ := open(t, f, here)
	f.rejectedErr = &api.Error{Kind: api.Unavailable, Public: "The store does not answer."}
	r.Send(uitest.Key("b"))
	r.Has("The store does not answer.")
}
