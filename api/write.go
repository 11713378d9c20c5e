package api

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api/evidence"
	"opdeck/api/jsontree"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// Write is a write before it is sent.
type Write struct {
	Act     Act
	Request Request
	Rule    WriteRule
	Guard   func() error // opdeck's own check of the object; nil for none
	Probe   Probe        // what would prove that it was done
	// Look reads the object once; nil: no read can show the outcome.
	Look func(ctx context.Context, p Probe) (Observation, error)
}

// Write is the only way of a write to the wire: dry run, gate, call and, if the answer proves nothing, reads that
// settle it (docs/outcomes.md). A nil error means that the wanted state is there. The answer is then the write's own,
// or that of the read that showed it.
func (c *Client) Write(ctx context.Context, w Write) (Answer, error) {
	if acts, ok := ctx.Value(dryRunKey{}).(*[]Act); ok {
		*acts = append(*acts, w.Act)
		return Answer{}, ErrDryRun
	}
	permit, err := c.opt.Gate.Begin(ctx, w.Rule, w.Act, w.Guard)
	if err != nil {
		return Answer{}, err
	}
	w.Probe.Kind, w.Probe.Ref = w.Act.Kind, permit.Ref
	if err := c.opt.Gate.follow(ctx, w.Rule, permit, w.Probe); err != nil {
		return Answer{}, err
	}
	w.Request.write = true
	w.Request.leaves = func() error { return Leaves(ctx, w.Probe) }
	w.Request.take = func(a Answer) error { // where no read can prove it, its 2xx is all that there is
		if w.Look == nil || w.Rule.Proves(w.Probe, ObjectOf(a.Body), true) {
			return nil
		}
		return errUnproven
	}
	a, err := c.exchange(ctx, w.Request)
	out, err := decide(w.Rule, w.Probe, w.Request.Op, a, err)
	out.Why = w.conclusion(a, out)
	if out.Verdict == Unclear {
		a, out, err = c.settle(ctx, w, permit.until, a, out, err)
	}
	a.Made = out.Found
	evidence.Note(ctx, out.Why)
	if out.Rule == RuleLocked && w.Act.Kind == ActRemoveDocument && c.opt.OnLocked != nil {
		c.opt.OnLocked(context.WithoutCancel(ctx), w.Act)
	}
	if endErr := c.opt.Gate.End(ctx, permit, out); endErr != nil {
		c.opt.Log.Error("outcome of a write not stored", "op", w.Request.Op, "request_id", out.RequestID, "err", endErr)
	}
	return a, err
}

var errUnproven = errors.New("the answer does not prove the write")

// conclusion is what a write's own answer proves.
func (w Write) conclusion(a Answer, out Outcome) evidence.Conclusion {
	e := a.Evidence(w.Request, w.Act.ID)
	e.Read = "the service's answer"
	why := evidence.Conclusion{Kind: evidence.Act, Object: w.Act.ID, Item: w.Act.Item, Rests: []evidence.Evidence{e}}
	switch out.Verdict {
	case Done:
		why.Says, why.Rests[0].Shows = w.Rule.Past, w.Rule.Shows
	case Denied:
		why.Says, why.Rests[0].Shows = "refused", fmt.Sprintf("refuses it (%d): %s", a.Status, out.Detail)
	case Failed:
		why.Says, why.Rests, why.Open = "not sent", nil, out.Detail
	default:
		why.Says, why.Rests[0].Shows = "not known", "does not say whether it was done"
		if a.Status == 0 {
			why.Rests, why.Open = nil, "it was sent, but no usable answer came back"
		}
	}
	return why
}

type leavingKey struct{}

// OnLeaving makes each write in the returned context call fn right before it is sent, when it has its slot and
// session and nothing else can stop it. So what fn stores is about writes that were sent. An error of fn stops the
// write.
func OnLeaving(ctx context.Context, fn func(Probe) error) context.Context {
	return context.WithValue(ctx, leavingKey{}, fn)
}

// Leaves calls the function of OnLeaving; fakes of the service in tests call it too.
func Leaves(ctx context.Context, p Probe) error {
	if fn, ok := ctx.Value(leavingKey{}).(func(Probe) error); ok {
		return fn(p)
	}
	return nil
}

// Probe is what a later read needs to find the proof of a write. It is stored, so that any process can look; it holds
// no secret and no personal data: contents are digests.
type Probe struct {
	Kind ActKind `json:"kind"`
	OPID string  `json:"opid,omitempty"`
	CUID string  `json:"cuid,omitempty"`
	GUID string  `json:"guid,omitempty"` // document that is removed or attached
	Ref  string  `json:"ref,omitempty"`  // of the intent in the audit trail

	// Before lists what was there when the write was sent: ids of files with that name and size, ids of the
	// operation's documents. Whole: it is complete. Was: the wanted state already showed, so that a read of it proves
	// nothing.
	Before []string `json:"before,omitempty"`
	Whole  bool     `json:"whole,omitempty"`
	Was    bool     `json:"was,omitempty"`

	// For uploads; the name also for attachments.
	FileName string    `json:"file_name,omitempty"`
	Size     int64     `json:"size,omitempty"`
	Digest   string    `json:"digest,omitempty"` // SHA-256 of the content
	Since    time.Time `json:"since,omitzero"`   // when it was prepared, by the service's clock; zero: not known
	IDField  string    `json:"-"`                // [service] upload_id_field or link_field

	// Leaves are salted digests of the values that an application was set to; Hooks of the webhook settings.
	Salt   string   `json:"salt,omitempty"`
	Leaves []string `json:"leaves,omitempty"`
}

// Shown reports whether a body shows the state that the write of p wanted. answer: the body is the write's own
// answer, else that of a read.
type Shown func(p Probe, body Object, answer bool) bool

// WriteRule is what one kind of write needs beside its request: its permission, its proof, and the meaning of its
// answers. Package endpoint declares it with the call.
type WriteRule struct {
	Kind  ActKind
	Need  Permission
	Shown Shown
	// Found returns the id of the object that the write created, as a body shows it; nil: the write creates nothing
	// that has an id.
	Found func(p Probe, body Object, answer bool) string
	// Past is the participle for people, "removed"; Shows is what the write's answer then shows, "no longer lists
	// it".
	Past, Shows string
	// Flag is a member beside "success" that reports success; "" for none.
	Flag string
	// Opposite is the write that undoes this one on the same object and item; "" for none. While either is in doubt,
	// neither is sent: a read could show the effect of the other. A write that replaces all of an object is its own
	// opposite, whatever it contains.
	Opposite ActKind
	// Again: the write may be repeated at any time.
	Again bool
	// Statuses are the documented refusals of this act: without words, with an object or no body. An HTML page comes
	// from a proxy.
	Statuses []int
	// Refused words a refusal that only this act has; false leaves it to the general words.
	Refused func(e *Error, words string, body Object, a Answer) bool
	// Advice says what to do while the outcome is unknown; "": FollowOutcome.
	Advice RemedyKind
}

// Remedy says what to do while the outcome of the write is unknown.
func (r WriteRule) Remedy() Remedy { return Remedy{Kind: cmp.Or(r.Advice, FollowOutcome)} }

// Proves reports whether a body shows the state that the write of p wanted.
func (r WriteRule) Proves(p Probe, body Object, answer bool) bool {
	return body.Exists() && r.Shown != nil && r.Shown(p, body, answer)
}

// Claim identifies what no other write may do while act may still arrive: the same request or, if the act has an
// opposite, both on the same object and item; "" for writes whose repetition is harmless.
func (r WriteRule) Claim(act Act) string {
	if r.Again {
		return ""
	}
	on := []string{act.Object, strings.ToLower(act.ID)}
	if r.Opposite != "" {
		kinds := []string{string(act.Kind), string(r.Opposite)}
		slices.Sort(kinds)
		on = append(append(on, kinds...), strings.ToLower(act.Item))
	} else {
		on = append(on, string(act.Kind), act.Method, act.Path, string(act.Body), act.SecretDigest)
	}
	return HashHex([]byte(strings.Join(on, "\x00")))
}

// isNote reports whether the act only writes down a note in opdeck's own store: nobody approves it, and a read-only
// context, which protects the service's records, allows it.
func (r WriteRule) isNote() bool { return r.Kind == ActAddNote }

// touchesSession reports whether the act only concerns our own session and so needs no approval.
func (r WriteRule) touchesSession() bool { return r.Need == MaySession }

func (r WriteRule) documented(status int) bool { return slices.Contains(r.Statuses, status) }

// says reports whether one of the answer's flags is want.
func (r WriteRule) says(body Object, want bool) bool {
	return body.Says("success", want) || r.Flag != "" && body.Says(r.Flag, want)
}

// settleAt says when the reads that settle a write are made, as fractions of Options.SettleWait: at once, then at
// growing intervals. Four calls leave room in a budget of twelve a minute; looks that read pages are fewer.
var settleAt = []float64{0, 0.1, 0.4, 1}

// minLook is the least time for one look.
const minLook = 5 * time.Second

// Observation is what a look at the object of a write found.
type Observation struct {
	Shown      bool     // the wanted state showed: the write is done
	Silent     bool     // what was read cannot show the state, whatever became of the write
	File       string   // id of the created object, if found
	Candidates []string // ids of objects that the write may have created

	Evidence evidence.Evidence // what was read; zero: nothing
	Answer   Answer            // of the read that showed it
	Calls    int               // calls that the look cost; 0: one
}

// settle looks until the wanted state shows or Options.SettleWait is over. If the caller leaves, the current look
// ends and no other begins. A request without an answer may arrive until the given time: who made the state is then
// not known.
func (c *Client) settle(ctx context.Context, w Write, until time.Time, a Answer, out Outcome, lost error) (Answer,
	Outcome, error) {
	sent := a.At
	began := c.opt.Now()
	end := began.Add(c.opt.SettleWait)
	var looked time.Time // when the last look with an answer was made
	var lookErr error
	calls, cost := 0, 0 // of all looks, of the last one
	for i, part := range settleAt {
		wait := began.Add(time.Duration(part * float64(c.opt.SettleWait))).Sub(c.opt.Now())
		if w.Look == nil || i > 0 && (calls+cost > len(settleAt) || c.opt.SettleWait <= 0 || c.opt.Now().After(end) ||
			c.opt.Sleep(ctx, max(wait, 0)) != nil) {
			break
		}
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx),
			max(end.Sub(c.opt.Now()), min(minLook, c.opt.Timeout)))
		s, err := w.Look(bound, w.Probe)
		cancel()
		cost = max(s.Calls, 1)
		calls += cost
		if lookErr = err; err != nil {
			continue
		}
		looked = c.opt.Now()
		out.Why = evidence.Conclusion{Kind: evidence.Act, Says: "not known", Object: w.Act.ID,
			Item: w.Act.Item, Rests: []evidence.Evidence{s.Evidence}}
		if s.Shown && s.Evidence.Flaw(evidence.Need{}) == evidence.Sound { // read by this call, after the write
			out.Verdict, out.Rule, out.After, out.Found = Done, "", HashHex(s.Answer.Body), s.File
			out.Why.Says, out.Why.Read = w.Rule.Past, true
			out.Detail = "the answer did not say so; confirmed by reading the object"
			if !w.Rule.answered(a) {
				out.Verdict, out.Detail = Seen, "no answer says so; a read of the object shows the wanted state"
				out.Why.Open = MayArrive(until)
			}
			s.Answer.Settled = true
			return s.Answer, out, nil
		}
		if s.Silent && w.Rule.accepted(a) {
			out.Verdict, out.Rule, out.After = Done, "", HashHex(a.Body)
			out.Detail = fmt.Sprintf("accepted (%d); the object read has nothing that shows it", a.Status)
			out.Why = w.conclusion(a, out)
			out.Why.Rests[0].Shows = fmt.Sprintf("accepts it (%d); no read can show more", a.Status)
			a.Accepted = true
			return a, out, nil
		}
	}
	out.Looked = looked
	return a, out, unsettled(w, a, sent, looked, errors.Join(lost, lookErr), AsError(lost))
}

// unsettled is the error of a write whose outcome is still unknown.
func unsettled(w Write, a Answer, sent, looked time.Time, err error, lost *Error) *Error {
	e := &Error{Op: w.Request.Op, Kind: UnknownOutcome, Status: a.Status, RequestID: a.RequestID, Err: err,
		Public: "Sent at " + sent.UTC().Format(clock) + ". The outcome is still unknown."}
	switch {
	case !looked.IsZero():
		e.Public = "Sent at " + sent.UTC().Format(clock) + ", not visible at " + looked.UTC().Format(clock) +
			". The outcome is still unknown."
	case w.Look != nil:
		e.Public = "Sent at " + sent.UTC().Format(clock) +
			". It could not be checked since, so the outcome is still unknown."
	}
	e.Public += " " + strings.TrimRight(lost.Public, ".") + "."
	e.Remedy = w.Rule.Remedy()
	return e
}

// The outcome of a write is reported only with proof (docs/outcomes.md):
//
//	done      the answer shows the wanted state, or it is a complete 2xx and a read shows the state or cannot show it
//	seen      a read shows the wanted state, and the request has no answer
//	refused   the service said no, in its own words or by a documented status
//	not sent  nothing left: no slot, no session, no connection
//	unknown   everything else; reads settle it
//
// decide returns the outcome that the answer alone proves. The error is nil for Done alone.
func decide(r WriteRule, p Probe, op string, a Answer, way error) (Outcome, error) {
	out := Outcome{Status: a.Status, RequestID: a.RequestID}
	e := AsError(way)
	set := func(v Verdict, e *Error) (Outcome, error) {
		out.Verdict, out.Rule = v, e.Rule
		if out.Detail = e.Public; v == Unclear {
			out.Rule = ""
		}
		return out, e
	}
	switch {
	case a.Status == 0 && !a.sent:
		return set(Failed, orInternal(op, e))
	case a.Status == 0 || a.err != nil:
		return set(Unclear, orInternal(op, e))
	case a.Status == http.StatusUnauthorized: // means that the call was not processed (docs/session.md)
		return set(Denied, orInternal(op, e))
	}
	body := ObjectOf(a.Body)
	proof := a.Status >= 200 && a.Status < 300 && r.Proves(p, body, true)
	words, no := r.refusal(body, a)
	no = no || r.documented(a.Status) && len(bytes.TrimSpace(a.Body)) == 0
	switch {
	case r.contrary(body, proof, no), !proof && !no, a.Status < 300 && saysTwice(a.Body):
		return set(Unclear, unproven(op, a, words))
	case proof:
		if out.Verdict, out.After = Done, HashHex(a.Body); r.Found != nil {
			out.Found = r.Found(p, body, true)
		}
		return out, nil
	}
	return set(Denied, refusalOf(r, op, a, body, words, refusedHere(way)))
}

// saysTwice reports whether a member is there twice: an answer that may contradict itself proves nothing.
func saysTwice(body []byte) bool {
	_, doubt, err := jsontree.ParseStrict(bytes.TrimPrefix(body, byteOrderMark))
	return err == nil && doubt.Kind == jsontree.Duplicate
}

func orInternal(op string, e *Error) *Error {
	if e == nil {
		e = &Error{Op: op, Kind: Internal, Public: "The service sent no usable answer."}
	}
	return e
}

// unproven is the error of an answer that proves neither success nor refusal.
func unproven(op string, a Answer, words string) *Error {
	e := &Error{Op: op, Kind: Unavailable, Status: a.Status, RequestID: a.RequestID,
		Public: fmt.Sprintf("The answer (%d) does not say whether it was done.", a.Status)}
	if body := ObjectOf(a.Body); a.Status < 300 && body.Len() > 0 {
		e.Public += " It has " + body.Keys() + "."
	}
	e.Quote(words)
	return e
}

// refusalOf is the error of a refusal; here says that the service accepts the session for other calls.
func refusalOf(r WriteRule, op string, a Answer, body Object, words string, here bool) *Error {
	e := Classify(op, a.Status, a.Body)
	e.RequestID = a.RequestID
	switch {
	case !here && session.Dead(a.Status, a.Body):
		e.Kind, e.Rule, e.Remedy = AuthFailed, "", Remedy{Kind: Login}
	case r.Refused != nil && r.Refused(e, words, body, a):
	case e.Rule != "":
	case a.Status < 400 || a.Status >= 500:
		e.Kind, e.Public, e.Remedy = Refused, "The service refused this; nothing was changed.", Remedy{}
		e.Quote(words)
	}
	return e
}

// contrary reports whether an answer contradicts itself: it shows the wanted state or an object, and also fails or
// refuses.
func (r WriteRule) contrary(body Object, proof, no bool) bool {
	thing := ObjectIn(body.Member("item")).Len() > 0 || r.says(body, true)
	flagged := body.Fails() || r.says(body, false)
	return proof && (no || flagged) || thing && flagged
}

// answered reports whether the request has an answer of its own, though it does not show the wanted state. The request
// then does not arrive any more. A 202 is for later.
func (r WriteRule) answered(a Answer) bool { return r.accepted(a) && a.Status != http.StatusAccepted }

// accepted reports whether the answer is a complete 2xx that reports no failure. A web page comes from a proxy.
func (r WriteRule) accepted(a Answer) bool {
	body := ObjectOf(a.Body)
	return a.err == nil && a.Status >= 200 && a.Status < 300 && !body.Fails() && !r.says(body, false) &&
		!saysTwice(a.Body) && !bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<"))
}

// never reports whether a status says nothing about the write: the call timed out, was throttled, or a proxy
// answered.
func never(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, 499,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return status < 200 || status >= 300 && status < 400
}

// trouble matches messages of transports and gateways. They are no refusal, since the write may still be done.
var trouble = regexp.MustCompile(
	`(?i)time[d]?[ -]?out|deadline|unavailable|upstream|gateway|internal[ _-](server[ _-])?error|` +
		`(try|retry) (it )?(again|later)|please retry|` +
		`connection|overload|temporar|bad response|no healthy|network|socket|broken pipe|unexpected eof|cancell?ed by|` +
		`context cancell?ed|too many requests|rate limit|throttl|maintenance|` +
		`server error|something went wrong|unexpected error|unknown error|could not be processed in time|request aborted`)

// refusal reports whether the answer is the service's own refusal, and its words.
func (r WriteRule) refusal(body Object, a Answer) (words string, no bool) {
	status, strong := a.Status, body.words("error", "errors")
	words = cmp.Or(strong, body.words("message", "detail", "description", "reason", "title"), bareMessage(a.Body))
	switch {
	case never(status):
		return words, false
	case knownMessage(words):
		return words, true
	case status >= 500:
		return words, false
	case r.Flag != "" && status < 400 && body.Says(r.Flag, false): // spec, Share rule 4, whatever the reason
		return words, true
	case trouble.MatchString(words):
		return words, false
	case body.Exists() && r.documented(status), body.Says("success", false), body.Says("applied", false):
		return words, true
	case status >= 400:
		return words, words != ""
	}
	return words, strong != ""
}

// forSession is the status that the session gets for an answer to r: 401 if the service says in other words that the
// token has expired.
func forSession(r Request, a Answer) int {
	if a.err != nil || r.Raw && a.Status < 300 || !session.Dead(a.Status, a.Body) {
		return a.Status
	}
	return http.StatusUnauthorized
}

// SessionRoute is r as the session knows it.
func (r Request) SessionRoute() session.Route {
	return session.Route{Class: r.Class, Name: r.Method + " " + r.Route, Open: r.Open}
}

// Probe sends r once with token, outside the session and its budgets, only to learn whether the service accepts the
// token.
func (c *Client) Probe(ctx context.Context, r Request, token secret.Value) (status int, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	call := c.call(r, uuid.NewString(), c.opt.Now())
	call.Background, call.Ran = true, call.At
	c.notify(call, CallRuns)
	m := &moving{c: c, call: call}
	a := c.attempt(ctx, r, token, m)
	m.stop()
	c.report(call, a, c.fault(ctx, r, a, nil))
	return forSession(r, a), a.Header, a.err
}

// knowsMore reports whether the session's error gives a better reason than that the service refused the token.
func knowsMore(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind != session.Unauthorized
}

// refusedHere reports whether the session's error says that only this route refuses the session.
func refusedHere(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind == session.NotAuthorised
}
