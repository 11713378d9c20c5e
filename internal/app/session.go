package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"opdeck/api"
	"opdeck/api/elapsed"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/lending"
	"opdeck/internal/domain/presence"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// SharedSession is the session of all processes, with the acts on it.
type SharedSession struct{ app *App }

func (a *App) SharedSession() SharedSession { return SharedSession{a} }

// Status reads the shared session, without a call.
func (s SharedSession) Status(ctx context.Context) (session.Status, error) {
	st, err := s.app.Session.Status(ctx)
	if err != nil {
		return st, SessionError(err)
	}
	st.Context = s.app.Context.Name
	if st.Borrowers, err = s.Borrowers(ctx); err != nil {
		return st, SessionError(err)
	}
	return st, nil
}

// Borrowers are the scripts that used the session within a day; it makes no call.
func (s SharedSession) Borrowers(ctx context.Context) ([]session.Borrower, error) {
	posts, err := journal.NewBorrowers(s.app.Store.Core).Posts(ctx, s.app.Scope())
	return lending.Together(posts), err
}

// Refresh replaces the pair with a refresh, for all processes.
func (s SharedSession) Refresh(ctx context.Context) error {
	return s.act(ctx, api.ActSessionRefresh, s.app.Session.Refresh)
}

// Login logs in again, which ends the current session.
func (s SharedSession) Login(ctx context.Context) error {
	return s.act(ctx, api.ActSessionLogin, s.app.Session.Login)
}

// Reset clears the pair and the login blocks; the next call logs in.
func (s SharedSession) Reset(ctx context.Context) error {
	return s.act(ctx, api.ActSessionReset, s.app.Session.Reset)
}

// act passes the gate like every write.
func (s SharedSession) act(ctx context.Context, kind api.ActKind, do func(context.Context) error) error {
	r := endpoint.Of(kind)
	act := api.Act{Kind: kind, Method: r.Method, Path: r.Path, Object: "session", ID: s.app.Session.Key().Account,
		Summary: string(kind) + " manually"}
	return s.app.Gate.Own(ctx, r.Write.Need, act, func(string) error {
		return factReader{app: s.app}.explained(ctx, do(ctx))
	})
}

// explainTime bounds the reads of the store that only serve an error's sentence.
const explainTime = 3 * time.Second

// explained is SessionError, with cause and remedy of the verdict where no session can be had.
func (a factReader) explained(ctx context.Context, err error) error {
	out := SessionError(err)
	var e *session.Error
	var known *api.Error
	if !errors.As(err, &e) || !errors.As(out, &known) || errors.Is(err, context.Canceled) || !unrenewed(e) {
		return out
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	f := a.all(ctx)
	if e.Kind == session.NoPassword && e.Err != nil {
		f.Password = verdict.Known(verdict.Password{Source: passwordSetting(a.app.Context), Fault: e.Err.Error()},
			"this process", f.Now, readHolds)
	}
	found, ok := stops(verdict.Conclude(f))
	if !ok {
		if text := e.Fault.String(); text != "" {
			known.Public = sentence(e.Public + ": " + text)
		}
		return out
	}
	known.Public = found.Sentence
	known.Remedy = nextStep(found)
	known.Remedy.Wait = known.RetryAfter
	return out
}

// unanswered words the error of a read that got no useful answer as the verdict does.
func (a factReader) unanswered(ctx context.Context, r *endpoint.Route, err error) error {
	var known *api.Error
	if !errors.As(err, &known) || known.Kind == api.UnknownOutcome {
		return err
	}
	refused := known.Kind == api.NotFound && known.Status != 0 && r.Write == nil // in the words of the documents
	switch class := known.Fault.Class; {
	case known.Rule == api.RuleAudit:
		a.refused(ctx)
		return err
	case class == reach.Useless, class == reach.None && refused:
		return a.useless(ctx, r, known)
	case class == reach.None, class == reach.Throttled, known.Rule != "":
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	f := a.all(ctx)
	f.Calls = append(f.Calls, verdict.Known(verdict.Call{Class: string(r.Class), Route: r.Method + " " + r.Path,
		Failed: f.Now, Since: f.Now, Fault: known.Fault}, "this process", f.Now, readHolds))
	found := verdict.Conclude(f).In(verdict.PartService)
	if len(found) == 0 {
		return err
	}
	return told(known, found[0])
}

// useless is unanswered for an answer that was of no use: the verdict's words if no other answer is either, which
// another read shows, unless the answer may be about its own object and others were of use a moment ago.
func (a factReader) useless(ctx context.Context, r *endpoint.Route, known *api.Error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), explainTime)
	defer cancel()
	f := a.all(ctx)
	ofObject := strings.Contains(r.Path, "{") && known.Fault.OfObject()
	unlikely := known.Fault.Class == reach.None || ofObject && f.Now.Sub(verdict.Measure(f).Answered) < anotherEvery
	is := func(found verdict.Finding) bool { return found.Cause == verdict.Cause(reach.Useless) }
	found := verdict.Conclude(f).In(verdict.PartService)
	if !slices.ContainsFunc(found, is) && !unlikely {
		a.app.readAnother(ctx, r.Template())
		found = verdict.Conclude(a.all(ctx)).In(verdict.PartService)
	}
	if i := slices.IndexFunc(found, is); i >= 0 {
		return told(known, found[i])
	}
	return known
}

// told is an error in the words of a finding: of every call, not of this one's record.
func told(e *api.Error, found verdict.Finding) error {
	out := *e
	out.Say(found.Sentence)
	out.Remedy = nextStep(found)
	if out.Kind == api.NotFound || found.Cause == verdict.Cause(reach.Useless) {
		out.Kind, out.Rule = api.Unavailable, ""
	}
	return &out
}

func nextStep(f verdict.Finding) api.Remedy {
	return api.Remedy{Kind: api.NextStep, Names: []string{f.Next.Do}, ID: f.Next.Command, Who: string(f.Who)}
}

// unrenewed reports whether a call failed because no session could be had, and not for a reason of its own.
func unrenewed(e *session.Error) bool {
	switch e.Kind {
	case session.CredentialsRefused, session.TwoFactorDemanded, session.LoginUnreadable, session.NoPassword,
		session.ServiceUnavailable:
		return true
	case session.TimedOut:
		return e.Fault.Class != reach.None
	}
	return false
}

// stops is the first finding that keeps every process from a session.
func stops(v verdict.Verdict) (f verdict.Finding, ok bool) {
	parts := []verdict.Part{verdict.PartConfig, verdict.PartStore, verdict.PartService, verdict.PartSession}
	for _, f := range v.Findings {
		if f.Severity == verdict.Critical && slices.Contains(parts, f.Part) {
			return f, true
		}
	}
	return f, false
}

// waitsFor says what a call waits for.
func (a factReader) waitsFor(c api.Call) string {
	w := a.app.Session.WaitsFor(context.Background())
	switch w.For {
	case session.ForStore:
		return "Waiting for the shared store."
	case session.ForHolder:
		return fmt.Sprintf("Waiting for the %s that %s, process %d, is making.", w.Kind, w.Holder.Host, w.Holder.PID)
	case session.ForSlot:
		return "Waiting for a slot among the " + string(c.Class) + " calls, or for the shared store."
	case session.ForSession:
		return "Waiting for a session."
	}
	ctx, cancel := context.WithTimeout(context.Background(), explainTime)
	defer cancel()
	said := "The session cannot be renewed yet."
	if f, ok := stops(verdict.Conclude(a.all(ctx))); ok {
		said = f.Sentence
	}
	return "Waiting: " + said + " Next try in " + elapsed.Whole(max(w.Next, time.Second).Round(time.Second)) + "."
}

// SessionError converts the session's errors to the client's: the kind sets the exit code, the hint says what to do.
func SessionError(err error) error {
	var e *session.Error
	if full := (*limit.Exhausted)(nil); errors.As(err, &full) {
		return api.NoRoom("", err)
	}
	if !errors.As(err, &e) {
		return err
	}
	out := &api.Error{Kind: api.AuthFailed, Public: sentence(e.Public), RetryAfter: e.RetryAfter, Err: err,
		Remedy: api.Remedy{Kind: api.SessionStatus}}
	switch e.Kind {
	case session.CredentialsRefused:
		out.Remedy.Kind = api.FixCredentials
	case session.TwoFactorDemanded:
		out.Remedy.Kind = api.NoSecondFactor
	case session.LoginUnreadable:
		out.Remedy = api.Remedy{Kind: api.FixSettings, ID: "[service]",
			Names: []string{"access_token_field, refresh_token_field, access_ttl_field"}}
	case session.NoPassword:
		out.Kind, out.Remedy = api.BadConfig, api.Remedy{Kind: api.FixSettings, ID: "the context",
			Names: []string{"password_env, password_file and password_command"}}
		if e.Err != nil { // the config's own sentence, without the password
			out.Public = sentence("the password is not available: " + e.Err.Error())
		}
	case session.StoreUnavailable:
		storeTrouble(out, e.Err)
	case session.ServiceUnavailable:
		out.Kind, out.Remedy = api.Unavailable, api.Remedy{Kind: api.Doctor, Wait: e.RetryAfter}
	case session.TimedOut:
		out.Kind = api.Unavailable
		if trouble := (*store.Error)(nil); errors.As(e.Err, &trouble) {
			storeTrouble(out, trouble)
		}
		if errors.Is(err, context.Canceled) {
			out.Kind = api.Interrupted
		}
	case session.Closed:
		out.Kind = api.Interrupted
	}
	return out
}

// Concluded converts an error for people. Of one about the store or its key, sentence and next step are the verdict's.
func Concluded(err error) *api.Error {
	out := *api.AsError(err)
	if store.IsKind(err, store.Unknown) { // what was saved is the question, not the store
		return &out
	}
	found, ok := Unopened(err, time.Now()).First()
	if !ok || found.Part == verdict.PartConfig { // a mistake is a sentence with its place
		return &out
	}
	out.Public, out.Hint, out.Remedy = found.Sentence, "", nextStep(found)
	return &out
}

// storeTrouble fills in the sentence and the hint for a store error.
func storeTrouble(out *api.Error, err error) {
	out.Kind, out.Remedy = api.Unavailable, api.Remedy{Kind: api.Doctor}
	var known *store.Error
	_, lost := keyFault(err, time.Time{})
	if !lost && !errors.As(err, &known) {
		return
	}
	e := Concluded(err)
	if out.Public, out.Remedy = e.Public, e.Remedy; !lost {
		out.Kind = e.Kind
	}
}

func sessionFact(st session.Status) verdict.Session {
	out := verdict.Session{State: st.State, Refused: st.Refused}
	if !st.Access.Dead {
		out.AccessUntil = st.Access.ExpiresAt
	}
	out.RefreshUntil = st.Refresh.ExpiresAt
	if ttl := st.Access.TTL; ttl > 0 && ttl < shortestLife {
		out.ShortLife = ttl
	}
	if h := st.Holder; h != nil && st.Phase.Sent() && st.HeldFor >= rotationTime() {
		out.Holder, out.HolderSince = fmt.Sprintf("%s, process %d", h.Host, h.PID), st.AsOf.Add(-st.HeldFor)
		out.Holding = "refresh"
		if st.Phase == session.SentLogin {
			out.Holding = "login"
		}
	}
	out.EndsAfter = st.EndsAfter
	if wait := max(st.LoginWait, st.RefreshWait); wait > 0 && st.State != "blocked" {
		out.Try = st.AsOf.Add(wait)
	}
	recent := st.AsOf.Add(-10 * time.Minute)
	for _, e := range st.History {
		switch {
		case e.Kind == session.EventRoute: // another route accepts the pair
			out.Unaccepted = 0
		case e.Kind != session.EventPremature || e.At.Before(recent):
		case !e.Known && e.By != "":
			if e.At.After(st.Accepted) {
				out.Unaccepted++
			}
		default:
			out.Foreign, out.ForeignAt = out.Foreign+1, e.At
		}
	}
	out.Unrefreshed, out.RefreshSince, out.RefreshFault = unrefreshed(st)
	switch verdict.Explain(st).Cause {
	case verdict.ForeignClient, verdict.ShorterLife:
	default:
		out.Foreign = 0
	}
	return out
}

// unrefreshed counts the rotations of a day since the last refresh that worked in which a login had to take the place
// of a refresh, with the first and the last fault. Refused refresh tokens count: the route or another client may be the
// reason.
func unrefreshed(st session.Status) (n int, since time.Time, last reach.Fault) {
	var failed *session.Event
	for _, e := range st.History {
		answered := e.Status != 0 && e.Outcome != session.Throttled && e.Fault.Class != reach.TwoFactor
		switch {
		case st.AsOf.Sub(e.At) > loginHolds:
		case e.Kind == session.EventRefresh && e.Outcome == session.OK:
			n, failed = 0, nil
		case e.Kind == session.EventRefresh && answered:
			failed = &e
		case e.Kind == session.EventLogin && e.Outcome == session.OK && failed != nil:
			if n++; n == 1 {
				since = failed.At
			}
			last, failed = failed.Fault, nil
		}
	}
	return n, since, last
}

// rotationTime is from when on a login or refresh has lasted longer than its process waits for an answer.
func rotationTime() time.Duration { return session.Defaults().AuthDeadline + time.Second }

// shortestLife is the lifetime of access tokens below which refreshes and logins cannot keep a session without waits.
const shortestLife = 20 * time.Second

// blocked is the attempt that a block keeps, for when the history has lost it.
func blocked(st session.Status) []verdict.Fact[verdict.Attempt] {
	if st.State != "blocked" || len(st.Blocks) == 0 {
		return nil
	}
	b := st.Blocks[len(st.Blocks)-1]
	a := verdict.Attempt{Kind: "login", At: st.AsOf.Add(-b.Ago), Fault: reach.Fault{Class: b.Class, Said: b.Said}}
	switch b.Reason {
	case session.BlockTwoFactor:
		a.Fault.Class = reach.TwoFactor
	case session.BlockUnreadable:
		a.Fault = reach.Fault{Class: reach.Unreadable, Said: b.Said, Status: b.Status, Key: b.Key}
		a.Next = a.At.Add(session.RereadAfter)
	}
	if a.Fault.Class == reach.None {
		a.Fault.Class = reach.Refused
	}
	return []verdict.Fact[verdict.Attempt]{verdict.Known(a, "the block of this login", a.At, blockHolds)}
}

// attempts are the logins and refreshes since the last one that succeeded, and that one.
func attempts(st session.Status) []verdict.Fact[verdict.Attempt] {
	var out []verdict.Fact[verdict.Attempt]
	for _, e := range slices.Backward(st.History) {
		if e.Kind == session.EventReset {
			break
		}
		if e.Kind != session.EventLogin && e.Kind != session.EventRefresh || e.Outcome == session.Aborted ||
			e.Outcome == session.Fenced {
			continue
		}
		a := verdict.Attempt{Kind: string(e.Kind), At: e.At, OK: e.Outcome == session.OK, Fault: e.Fault,
			Waits: e.Outcome == session.NoSlot, By: e.Owner.Host}
		if !a.OK && !a.Waits && a.Fault.Class == reach.None {
			a.Fault.Class = reach.NotAnswered
		}
		if e.Outcome == session.Unreadable {
			a.Next = e.At.Add(session.RereadAfter)
		}
		holds := attemptHolds
		if a.OK {
			holds = loginHolds
		}
		if e.Outcome == session.Refused || e.Outcome == session.TwoFactor || e.Outcome == session.Unreadable {
			holds = blockHolds
		}
		out = append(out, verdict.Known(a, fmt.Sprintf("%s, process %d", e.Owner.Host, e.Owner.PID), e.At, holds))
		if a.OK {
			break
		}
	}
	if !slices.ContainsFunc(out, func(f verdict.Fact[verdict.Attempt]) bool { return f.Holds == blockHolds }) {
		out = append(out, blocked(st)...)
	}
	return out
}

// clockFact compares the store's clock with the Date of the newest login or refresh, and this host's with the store's.
func (a factReader) clockFact(st session.Status) (none verdict.Fact[verdict.Clock]) {
	if a.app.ownClock {
		return none
	}
	for _, e := range slices.Backward(st.History) {
		if e.Served.IsZero() {
			continue
		}
		c := verdict.Clock{Host: a.app.Session.Owner().Host, Ahead: e.At.Sub(e.Served) - st.Ahead}
		if a.app.Store.Core.Engine() == store.Postgres {
			c.Database = e.At.Sub(e.Served)
		}
		return verdict.Known(c, "the Date of a "+string(e.Kind), e.At, callHolds)
	}
	return none
}

// passwordFact tries the password where a login would need it now. A command is not run: what a login of any process
// has seen of it counts.
func (a factReader) passwordFact(ctx context.Context, f *verdict.Facts, st session.Status) error {
	p := verdict.Password{Source: passwordSetting(a.app.Context)}
	for _, one := range f.Attempts { // newest first
		if at := one.Value; at.Fault.Class == reach.NoPassword {
			p.Fault = at.Fault.Said
			f.Password = verdict.Known(p, one.From, one.At, one.Holds)
			break
		} else if !at.Waits {
			break // a newer login had one
		}
	}
	if a.app.Sandbox != nil || a.app.Context.PasswordCommand != "" || st.State == string(session.Live) || st.Renewable() {
		return nil
	}
	p.Fault = ""
	if _, err := a.app.Config.Password(ctx, a.app.Context, a.app.getenv); err != nil {
		p.Fault = err.Error()
	}
	f.Password = verdict.Known(p, "this process", f.Now, readHolds)
	return nil
}

// passwordSetting names the setting that has the password.
func passwordSetting(c config.Context) string {
	switch {
	case c.PasswordEnv != "":
		return "password_env"
	case c.PasswordFile != "":
		return "password_file"
	}
	return "password_command"
}

// Connected lists the open consoles on this store: their person, screen and start, without a call.
func (s SharedSession) Connected(ctx context.Context) ([]presence.Place, error) {
	st, err := s.app.Session.Status(ctx)
	if err != nil {
		return nil, SessionError(err)
	}
	lives := map[string]bool{s.app.Session.Owner().ID: true}
	for _, i := range st.Seen {
		lives[i.Owner.ID] = !i.Gone
	}
	return presence.Connected(ctx, journal.NewPresence(s.app.Store.Core), s.app.Scope(),
		func(process string) bool { return lives[process] }, s.app.Now)
}

// BorrowerKeys reads the keys of the configured borrowers.
func (a *App) BorrowerKeys(getenv func(string) string) (*lending.Keys, error) {
	bad := func(what string, err error) error { return &api.Error{Kind: api.BadConfig, Public: what, Err: err} }
	keys := lending.NewKeys(a.Context.Role)
	for _, name := range slices.Sorted(maps.Keys(a.Config.Lend.Borrowers)) {
		b := a.Config.Lend.Borrowers[name]
		key, err := a.Config.BorrowerKey(b, getenv)
		if err != nil {
			return nil, bad(a.Config.MistakeIn(name, err).Error()+".", err)
		}
		if other, taken := keys.Find(key.Reveal()); taken {
			return nil, bad(fmt.Sprintf("The borrowers %s and %s have the same key; each needs its own.", other.Name, name), nil)
		}
		if err := keys.Add(key, keyedBorrower(a, name, b, key)); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// keyedBorrower is a borrower with a key: for approvals a person of its own, like one over SSH. Its fingerprint is
// keyed, because people choose keys.
func keyedBorrower(a *App, name string, b config.Borrower, key secret.Value) lending.Borrower {
	return lending.Borrower{Name: name, Role: b.Role, Priority: b.Priority, PerMinute: b.PerMinute,
		Reveal: b.Reveal,
		Who: api.Actor{Name: name, Role: b.Role, Via: lending.Via, Key: "HMAC:" + a.digests.Of("borrower", key),
			Login: lending.Via + " " + name}}
}

// LocalBorrower is a command started by the person at this terminal. It has the role and limits of the configured
// borrower named as, else the person's role. For approvals it is that person.
func (a *App) LocalBorrower(as, command string) (lending.Borrower, error) {
	who := a.LocalActor(lending.Via)
	who.From = command
	out := lending.Borrower{Name: who.Name, Role: who.Role, Priority: lending.Background}
	if as != "" {
		b, ok := a.Config.Lend.Borrowers[as]
		if !ok {
			return out, &api.Error{Kind: api.Usage, Public: fmt.Sprintf("The config has no [lend.borrowers.%s].", as),
				Hint: "--as takes the name of a borrower; without it the command runs with your own role."}
		}
		out = lending.Borrower{Name: as, Role: b.Role, Priority: b.Priority, PerMinute: b.PerMinute,
			Reveal: b.Reveal}
		who.Name, who.Role = as, b.Role
	}
	out.Who = who
	return out, nil
}

// When a wait is reported.
const (
	waitReported = 2 * time.Second  // until the first report
	waitAgain    = 20 * time.Second // between reports
	moveAgain    = 5 * time.Second  // between reports of a body's progress
)

// waits reports what slow calls wait for.
type waits struct {
	report func(sentence string, moves bool)
	say    func(api.Call) string

	mu     sync.Mutex
	timers map[string]*time.Timer // guarded by mu: by call
	latest map[string]api.Call    // guarded by mu: as last received
}

// reportWaits reports what this App's calls wait for, and the progress of bodies.
func (a *App) reportWaits(report func(sentence string, moves bool)) {
	w := newWaits(report, factReader{app: a}.waitsFor)
	a.OnCall(w.onCall)
}

// newWaits words with room what an unsent call waits for.
func newWaits(report func(sentence string, moves bool), room func(api.Call) string) *waits {
	w := &waits{report: report, timers: map[string]*time.Timer{}, latest: map[string]api.Call{}}
	w.say = func(c api.Call) string {
		switch {
		case moves(c):
			word, of := "Received ", ""
			if c.Write {
				word = "Sent "
			}
			if c.Size > 0 {
				of = " of " + humanize.Bytes(uint64(c.Size)) //nolint:gosec // no size is negative
			}
			return word + humanize.Bytes(uint64(c.Moved)) + of + " (" + c.Op + ")." //nolint:gosec // no size is negative
		case c.Phase == api.CallRuns:
			return "Waiting for the service to answer (" + c.Op + ")."
		}
		return room(c)
	}
	return w
}

// moves reports whether the call's body is partly transferred.
func moves(c api.Call) bool {
	return c.Phase == api.CallRuns && c.Moved > 0 && (c.Size == 0 || c.Moved < c.Size)
}

// onCall receives each phase of each call.
func (w *waits) onCall(c api.Call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, moved := w.timers[c.ID], moves(w.latest[c.ID])
	if w.latest[c.ID] = c; t != nil && moved && c.Phase == api.CallRuns {
		return // the timer continues
	}
	if t != nil {
		t.Stop()
		delete(w.timers, c.ID)
	}
	if c.Phase == api.CallEnded {
		delete(w.latest, c.ID)
	}
	if c.Phase != api.CallEnded {
		w.after(waitReported, c)
	}
}

// after reports c later, unless it has made progress by then. The caller holds mu.
func (w *waits) after(d time.Duration, c api.Call) {
	var t *time.Timer
	t = time.AfterFunc(d, func() {
		w.mu.Lock()
		if now, ok := w.latest[c.ID]; ok {
			c = now
		}
		w.mu.Unlock()
		sentence := w.say(c)
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timers[c.ID] != t {
			return
		}
		w.report(sentence, moves(c))
		if moves(c) {
			w.after(moveAgain, c)
			return
		}
		w.after(waitAgain, c)
	})
	w.timers[c.ID] = t
}
