package lendproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/mask"
	"opdeck/internal/system/listen"
)

// ServeHTTP answers one request of a borrower.
func (l *Lender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if bad := wellFormed(r); bad != nil {
		w.Header().Set("Connection", "close") // the rest of the connection may not be a new request
		l.refuse(w, bad)
		return
	}
	b, bad := l.borrower(r)
	if bad != nil {
		l.stranger(r)
		l.refuse(w, bad)
		return
	}
	call, bad := lending.Match(r.Method, r.RequestURI)
	ctx := api.WithTrail(b.Context(r.Context()), l.app.Audit)
	if bad == nil {
		if no := call.Refusal(b.Role, l.app.ReadOnly); no != nil {
			bad = lending.Failure(no)
			l.denied(ctx, call.Op(), no)
		}
	}
	done := lending.Done{Borrower: b, Class: classOf(call, r), Write: call.Writes(), Refused: true}
	broken := false
	if bad == nil {
		done.Waited, broken, bad = l.answer(ctx, w, r, b, call)
		done.Refused = bad != nil && refusedHere(bad)
	}
	if l.tally.Count(done, quiet) {
		l.began(b)
	}
	switch {
	case broken:
		panic(http.ErrAbortHandler) // the borrower must not take the answer for complete
	case bad != nil:
		l.refuse(w, bad)
	}
}

func classOf(c lending.Call, r *http.Request) limit.Class {
	if c.Route == nil {
		return endpoint.ClassOf(r.URL.Path)
	}
	return c.Class
}

// refusedHere reports whether opdeck itself refused a call, for another reason than the budget.
func refusedHere(bad *lending.Refusal) bool {
	service := bad.Err.Status != 0 && bad.Err.Kind != api.UnknownOutcome // in the service's own words
	return !service && bad.Err.Kind != api.RateLimited && bad.Status < 500
}

// wellFormed refuses what parsers may read differently. net/http's server is the only parser: it refuses
// contradicting lengths, a length that is not a number, header lines without a name and invalid bytes. What it
// accepts and we do not is here.
func wellFormed(r *http.Request) *lending.Refusal {
	bad := func(status int, what, instead string) *lending.Refusal {
		return &lending.Refusal{Status: status, Err: &api.Error{Kind: api.Usage, Public: what, Hint: instead, Unsent: true}}
	}
	host := r.Host
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	switch {
	case !r.ProtoAtLeast(1, 1):
		return bad(http.StatusHTTPVersionNotSupported, "opdeck speaks HTTP/1.1.", "")
	case len(r.TransferEncoding) > 0 || r.ContentLength < 0: // net/http hides a length beside it
		return bad(http.StatusLengthRequired, "A body needs its length.", "Send Content-Length, not Transfer-Encoding.")
	case r.Header.Get("Upgrade") != "":
		return bad(http.StatusBadRequest, "opdeck offers no other protocol.", "Leave the header Upgrade out.")
	case host != "localhost" && host != "opdeck" && (ip == nil || !ip.IsLoopback()):
		return bad(http.StatusMisdirectedRequest, "This is opdeck on this host, not a proxy to other hosts.",
			"Use the address in OPDECK_PROXY_URL; on the socket http://opdeck.")
	case len(r.Header.Values(lending.HeaderKey)) > 1 || len(r.Header.Values("Authorization")) > 1:
		return bad(http.StatusBadRequest, "The request names its borrower twice.", "")
	}
	return nil
}

// borrower identifies the sender: on the socket by the process's user id, elsewhere by a key, which may be in
// Authorization, where scripts already put a token.
func (l *Lender) borrower(r *http.Request) (lending.Borrower, *lending.Refusal) {
	p, _ := r.Context().Value(peerKey{}).(peer)
	key := r.Header.Get(lending.HeaderKey)
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok && key == "" && !p.local {
		key = bearer
	}
	if key == "" && p.local {
		return l.owner(p)
	}
	b, ok := l.opt.Keys.Find(key)
	switch {
	case key == "":
		return b, unknown("The request names no borrower.",
			"Send the key of a borrower in the header "+lending.HeaderKey+
				": OPDECK_PROXY_KEY under opdeck session exec, or that of [lend.borrowers.NAME].")
	case !ok:
		return b, unknown("No borrower has this key.",
			"opdeck session exec makes a key that ends with its command; [lend.borrowers.NAME] keeps one. "+
				"A token of the service is not a key.")
	}
	b.Who.From = from(r, p)
	return b, nil
}

// unknown is a refusal with status 403: after a 401 a script would log in.
func unknown(what, instead string) *lending.Refusal {
	return &lending.Refusal{Status: http.StatusForbidden,
		Err: &api.Error{Kind: api.AuthFailed, Public: what, Hint: instead, Unsent: true}}
}

// owner is the borrower on the socket: the user who runs this process.
func (l *Lender) owner(p peer) (lending.Borrower, *lending.Refusal) {
	who := l.app.LocalActor(lending.Via)
	if knowsPeer && p.uid != who.UID {
		return lending.Borrower{},
			unknown("The socket belongs to another user.", "Start a proxy of your own, or use a borrower's key.")
	}
	who.From = "socket"
	return lending.Borrower{Name: who.Name, Role: who.Role, Priority: lending.Background, Reveal: l.opt.Reveal,
		Who: who}, nil
}

func from(r *http.Request, p peer) string {
	if p.local {
		return strings.TrimSpace("socket, uid " + p.uid)
	}
	return r.RemoteAddr
}

// answer makes the call and writes the answer; the caller writes a refusal. broken: the answer was cut off.
func (l *Lender) answer(ctx context.Context, w http.ResponseWriter, r *http.Request, b lending.Borrower,
	call lending.Call) (waited time.Duration, broken bool, bad *lending.Refusal) {
	body, bad := readBody(w, r, call)
	if bad != nil {
		return 0, false, bad
	}
	began := l.app.Now()
	if err := b.TakeBound(ctx, l.app.Limits); err != nil {
		return l.app.Now().Sub(began), false, lending.Failure(api.NoRoom(call.Op(), err))
	}
	waited = l.app.Now().Sub(began)
	if call.Writes() {
		book := &evidence.Book{}
		out, err := call.Write(evidence.In(ctx, book), l.app.Client,
			endpoint.Content{Type: r.Header.Get("Content-Type"), Bytes: body, ShareField: l.app.Config.Service.ShareTokenField})
		if err != nil {
			return waited, false, l.failure(ctx, call, err)
		}
		l.head(ctx, w, call, b, waited, "")
		for _, c := range book.About("") {
			if c.Read && c.Open != "" {
				w.Header().Set(lending.HeaderDoubt, c.Missing())
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(out) // a borrower that left gets no answer
		return waited, false, nil
	}
	ctx, err := l.revealing(ctx, b, call)
	if err != nil {
		return waited, false, lending.Failure(err)
	}
	raw := endpoint.Raw{Route: call.Route, IDs: call.IDs, Query: call.Query}
	got, err := endpoint.Do(ctx, l.app.Client, endpoint.GetRaw, raw)
	if err != nil {
		return l.app.Now().Sub(began), false, l.failure(ctx, call, err)
	}
	defer func() { _ = got.Body.Close() }()
	waited += got.Waited
	lending.Pass(w.Header(), got.Header)
	l.head(ctx, w, call, b, waited, got.RequestID)
	if got.Size >= 0 {
		w.Header().Set("Content-Length", strconv.FormatInt(got.Size, 10))
	}
	w.WriteHeader(got.Status)
	if err := stream(w, got.Body); err != nil {
		l.app.Log.Warn("lend: an answer broke off", "op", call.Op(), "err", err)
		return waited, true, nil
	}
	return waited, false, nil
}

// revealing is ctx in which the answer to call is not masked if the borrower was declared so; it is
// recorded before.
func (l *Lender) revealing(ctx context.Context, b lending.Borrower, call lending.Call) (context.Context, error) {
	if !b.Reveal {
		return ctx, nil
	}
	object, _, _ := strings.Cut(string(call.Kind), ".")
	return mask.Reveal(ctx, l.app.Audit, api.Event{Name: audit.EventReveal, Object: object,
		ID:     strings.Join(call.IDs, " "),
		Detail: "lent to " + b.Name + ": " + call.Op()})
}

// failure is the answer to a call that failed with err. Its Retry-After is that of the shared budget, not the
// service's.
func (l *Lender) failure(ctx context.Context, call lending.Call, err error) *lending.Refusal {
	bad := lending.Failure(err)
	if bad.Err.Kind != api.RateLimited || bad.Err.Status == 0 {
		return bad
	}
	if u, ok := l.usage(ctx, call.Class); ok {
		limited := *bad.Err
		limited.RetryAfter = time.Duration(u.NextSlot * float64(time.Second))
		bad.Err = &limited
	}
	return bad
}

// readBody reads the body that a call may have.
func readBody(w http.ResponseWriter, r *http.Request, call lending.Call) ([]byte, *lending.Refusal) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	most := call.Lent.MaxBody
	if r.ContentLength > most {
		w.Header().Set("Connection", "close")
		e := api.Refusal(call.Op(), api.RuleFile, "The body is larger than this call accepts (%d bytes).", most)
		e.Unsent = true
		return nil, &lending.Refusal{Status: http.StatusRequestEntityTooLarge, Err: e}
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime))
	b, err := io.ReadAll(r.Body)
	_ = control.SetReadDeadline(time.Time{})
	listen.Working(r.Context())
	if err != nil {
		w.Header().Set("Connection", "close")
		return nil, &lending.Refusal{Status: http.StatusRequestTimeout,
			Err: &api.Error{Kind: api.Usage, Public: "The body was cut off.", Unsent: true, Err: err}}
	}
	return b, nil
}

// head writes the header fields about the call.
func (l *Lender) head(ctx context.Context, w http.ResponseWriter, call lending.Call, b lending.Borrower,
	waited time.Duration, request string) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set(lending.HeaderWaited, strconv.FormatFloat(waited.Seconds(), 'f', 3, 64))
	if request != "" {
		h.Set(lending.HeaderRequest, headerSafe(request))
	}
	if u, ok := l.usage(ctx, call.Class); ok {
		left := u.Room
		if b.Priority != lending.Person {
			left = max(0, left-u.Reserve)
		}
		h.Set(lending.HeaderLeft, strconv.Itoa(left))
	}
}

// headerSafe makes an id from the service safe for a header.
func headerSafe(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x21 || r > 0x7e {
			return -1
		}
		return r
	}, s)
}

// usage reads the budget of one class; ok is false if the store has none.
func (l *Lender) usage(ctx context.Context, class limit.Class) (u limit.Usage, ok bool) {
	u, err := l.app.Limits.ClassUsage(context.WithoutCancel(ctx), class)
	return u, err == nil
}

// stream copies an answer; it stops if the borrower reads nothing for a while.
func stream(w http.ResponseWriter, from io.Reader) error {
	control := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			_ = control.SetWriteDeadline(time.Now().Add(chunkTime))
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// refuse writes our own answer.
func (l *Lender) refuse(w http.ResponseWriter, bad *lending.Refusal) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	if bad.Allow != "" {
		h.Set("Allow", bad.Allow)
	}
	if id := bad.Err.RequestID; id != "" {
		h.Set(lending.HeaderRequest, headerSafe(id))
	}
	if wait := max(bad.Err.RetryAfter, bad.Err.Remedy.Wait); wait > 0 || bad.Status == http.StatusTooManyRequests {
		h.Set("Retry-After", strconv.Itoa(max(1, int(math.Ceil(wait.Seconds())))))
	}
	body, err := json.Marshal(bad.Body())
	if err != nil {
		body = []byte(
			`{"error":{"kind":"internal","message":"The error cannot be written as JSON.","hint":"","request_id":""}}`)
	}
	w.WriteHeader(bad.Status)
	_, _ = w.Write(append(body, '\n'))
}

// stranger records a request of an unknown sender.
func (l *Lender) stranger(r *http.Request) {
	p, _ := r.Context().Value(peerKey{}).(peer)
	l.note(r.Context(), api.Actor{Name: "unknown", Via: lending.Via, From: from(r, p)},
		api.Event{Name: audit.EventLendDenied, Object: "borrower", Detail: "no borrower's key"})
}

// denied records a refusal by role.
func (l *Lender) denied(ctx context.Context, op string, e *api.Error) {
	l.note(ctx, api.ActorOf(ctx), api.Event{Name: audit.EventDenied, Object: "borrower", ID: api.ActorOf(ctx).Name,
		Detail: op + ": " + string(e.Rule)})
}

func (l *Lender) note(ctx context.Context, who api.Actor, e api.Event) {
	if err := l.app.Audit.Note(context.WithoutCancel(ctx), who, e); err != nil {
		l.app.Log.Error("audit", "err", err)
	}
}

// quiet is how long a borrower must be idle for its next call to be recorded as a start; every is how often its calls
// are recorded while it is active.
const (
	quiet = 10 * time.Minute
	every = 10 * time.Minute
)

// summaries hold what the audit trail has recorded of each borrower.
type summaries struct {
	mu    sync.Mutex
	noted map[string]noted // guarded by mu: by borrower
}

type noted struct {
	who     api.Actor
	calls   int64
	refused int64
	classes map[limit.Class]int64
}

// began records that a borrower starts to use the session.
func (l *Lender) began(b lending.Borrower) {
	l.sums.mu.Lock()
	t := l.sums.noted[b.Name]
	t.who = b.Who
	l.sums.noted[b.Name] = t
	l.sums.mu.Unlock()
	l.note(context.Background(), b.Who, api.Event{Name: audit.EventLendBegan, Object: "borrower", ID: b.Name,
		Detail: fmt.Sprintf("role %s, priority %s", b.Role, b.Priority)})
}

// summarise records each borrower's calls since the last time.
func (l *Lender) summarise() {
	for _, b := range l.tally.Borrowers() {
		l.sums.mu.Lock()
		before := l.sums.noted[b.Name]
		now := noted{who: before.who, calls: b.Calls, refused: b.Refused, classes: l.tally.Classes(b.Name)}
		l.sums.noted[b.Name] = now
		l.sums.mu.Unlock()
		if now.calls == before.calls {
			continue
		}
		var by []string
		for _, class := range slices.Sorted(maps.Keys(now.classes)) {
			if n := now.classes[class] - before.classes[class]; n > 0 {
				by = append(by, fmt.Sprintf("%s %d", class, n))
			}
		}
		l.note(context.Background(), now.who, api.Event{Name: audit.EventLent, Object: "borrower", ID: b.Name,
			Detail: fmt.Sprintf("%d calls (%s), %d of them refused by opdeck", now.calls-before.calls, strings.Join(by, ", "),
				now.refused-before.refused)})
	}
}

// post reports lent calls to other processes and the trail, until ctx ends.
func (l *Lender) post(ctx context.Context) {
	tick := time.NewTicker(lending.PostEvery)
	defer tick.Stop()
	var last []session.Borrower
	posted, summed := time.Time{}, time.Now()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		list := l.tally.Borrowers()
		ended := ctx.Err() != nil
		for i := range list {
			list[i].Running = !ended
		}
		if ended || !reflect.DeepEqual(list, last) || len(list) > 0 && time.Since(posted) > lending.Silent/2 {
			l.publish(list)
			last, posted = list, time.Now()
		}
		if ended || time.Since(summed) >= every {
			l.summarise()
			summed = time.Now()
		}
	}
}

// postTime bounds a post, so that a slow store does not delay the end of a proxy.
const postTime = 3 * time.Second

func (l *Lender) publish(list []session.Borrower) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTime)
	defer cancel()
	if err := l.board.Post(ctx, l.app.Scope(), l.id, list); err != nil {
		l.app.Log.Warn("lend: the counts of borrowers cannot be shared", "err", err)
	}
}
