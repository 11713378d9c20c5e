package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/elapsed"
	"opdeck/api/endpoint"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
)

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
		f.Password = verdict.Known(verdict.Password{Source: passwordSetting(a.Context), Fault: e.Err.Error()},
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
		a.readAnother(ctx, r.Template())
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
	w := a.Session.WaitsFor(context.Background(), c.Class)
	if !w.Renewal {
		return w.Sentence
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
