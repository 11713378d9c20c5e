package main

import (
	"context"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/sandbox/faulty"
)

// lookedOnCall are states of lists, on-call screens and overlays. Like looked, no document shows them.
var lookedOnCall = []scene{
	{name: "session-foreign", title: "Somebody else logged in", where: "› Session", word: "another client",
		before: foreignLogin, steps: []step{list, {"6", "generation"}}},
	{name: "session-blocked", title: "The service refuses the login", where: "› Session", word: "blocked",
		before: faults("status=login:401/password", foreignLogin), steps: []step{list, {"6", "generation"}}},
	{name: "session-offline", title: "The session of a service that does not answer", where: "› Session",
		word:   "before its answer",
		before: faults("refuse=*", dropPair), steps: []step{list, {"L", "before its answer"}, {"6", "generation"}}},
	{name: "session-question", title: "The question before a login", where: "› Session", word: "[ No ]",
		steps: []step{list, {"6", "generation"}, {"I", "[ No ]"}}},
	{name: "session-refreshing", title: "The pair is renewed now", where: "› Session", word: "refreshing",
		before: faults("delay=refresh:5s"), steps: []step{list, {"6", "generation"}, {"Z", "[ No ]"}, {"y", "refreshing"}}},
	{name: "doctor", title: "The doctor", where: "› Session", word: "two-factor",
		steps: []step{list, {"6", "generation"}, {"D", "two-factor"}}},
	{name: "doctor-offline", title: "The doctor while the service does not answer", where: "› Session", word: "two-factor",
		before: faults("refuse=*"), steps: []step{list, {"6", "generation"}, {"D", "two-factor"}}},
	{name: "limits-waiting", title: "Calls wait for room", where: "› Limits", word: "12 of 12", more: patient,
		before: useUp, steps: []step{list, {"L", "waits for the budget"}, {"5", "policy wait"}}},
	{name: "limits-throttled", title: "The service enforces its limits", where: "› Limits", word: "refused",
		before: faults("busy=billing:45s"), steps: []step{list, {"L", "too many requests"}, {"5", "policy wait"}}},
	{name: "tariffs", title: "The service's limits of payments", where: "Limits › ", word: "of",
		steps: []step{list, {"5", "policy wait"}, {"$", "› Payment limits"}}},
	{name: "commissions", title: "The service's commissions", where: "Limits › ", word: "of",
		steps: []step{list, {"5", "policy wait"}, {"%", "› Commissions"}}},
	{name: "accounts", title: "Customers' accounts", where: "› Accounts", word: "accounts",
		steps: []step{list, {"A", "› Accounts"}}},
	{name: "account", title: "One account", where: "› ", word: "balance",
		steps: []step{list, {"A", "67 accounts"}, {enter, "equisites"}}},
	{name: "counterparties", title: "Counterparties", where: "› Counterparties", word: "counterparties",
		steps: []step{list, {"P", "› Counterparties"}}},
	{name: "counterparty", title: "One counterparty", where: "› Counterparties › ", word: "ccount",
		steps: []step{list, {"P", "47 counterparties"}, {enter, "Counterparties › "}}},
	{name: "event", title: "One webhook event", where: "› Events", word: "hook", before: deliver,
		steps: []step{list, {"7", "verified"}, {enter, "Body as received"}}},
	{name: "event-codes", title: "Learnt meanings of codes", where: "› Events", word: "code", before: deliver,
		steps: []step{list, {"7", "verified"}, {"=", "does not publish"}}},
	{name: "event-rejected", title: "Rejected deliveries", where: "› Events", word: "Last rejected",
		before: deliver, steps: []step{list, {"7", "verified"}, {"b", "Last rejected"}}},
	{name: "event-settings", title: "The service's webhook settings", where: "› Events", word: "At the service",
		steps: []step{list, {"7", "No receiver"}, {"W", "At the service"}}},
	{name: "events-received", title: "Webhook events with a running receiver", where: "› Events", word: "following",
		hooks: "listen = \"127.0.0.1:0\"\n", before: deliver, steps: []step{list, {"7", "verified"}}},
	{name: "no-events", title: "No webhook has come", where: "› Events", word: "No receiver",
		steps: []step{list, {"7", "No receiver"}}},
	{name: "audit-all", title: "All records of the trail", where: "› Audit", word: "to be sent",
		steps: then(removed, step{"8", "document.remove"}, step{".", "to be sent"})},
	{name: "audit-record", title: "One record of the trail", where: "› ", word: "remove",
		steps: then(removed, step{"8", "document.remove"}, step{enter, "ash"})},
	{name: "audit-verify", title: "The trail is checked", where: "› Audit", word: "What was checked",
		steps: then(removed, step{"8", "document.remove"}, step{"V", "What was checked"})},
	{name: "oncall", title: "On call", where: "› On call", word: "Session", steps: []step{list, {"B", "› On call"}}},
	{name: "oncall-trouble", title: "On call in trouble", where: "› On call", word: "Session",
		before: faults("status=login:401/password,busy=account:50s", foreignLogin, deliver),
		steps:  []step{list, {"L", "reload failed"}, {"B", "› On call"}}},
	{name: "slow", title: "The service has not answered for seconds", where: "Operations", word: "no answer for",
		before: faults("delay=billing:30s"), steps: []step{list, {"L", "no answer for"}}},
	{name: "unreachable", title: "The service cannot be reached", where: "Operations", word: "reload failed",
		before: faults("refuse=*"), steps: []step{list, {"L", "reload failed"}}},
	{name: "notices", title: "What is going on while nothing answers", where: "Operations", word: "Activity",
		before: faults("refuse=*"), steps: []step{list, {"L", "reload failed"}, {"!", "Activity"}}},
	{name: "waits", title: "A call that waits for its turn", where: "Operations", word: "waits for the budget",
		more:   patient,
		before: useUp, steps: []step{list, {"L", "waits for the budget"}}},
	{name: "read-only", title: "A context that is read-only", where: "› Documents", word: "read-only", more: readOnly,
		steps: then(toDocuments[:3:3], step{"d", "› Documents"}, step{"x", "read-only"})},
	{name: "viewer", title: "Somebody who may only read", where: "› Documents", word: "role", as: viewer,
		steps: then(toDocuments[:3:3], step{"d", "› Documents"}, step{"x", "role"})},
	{name: "ssh", title: "The console at the other end of SSH", where: "Operations", word: "vera", as: viewer,
		steps: []step{list, {down, "2 of 500"}}},
	{name: "greeting", title: "The greeting of a start without a config, over SSH", where: "Operations",
		word: "nothing is real.", as: viewer, before: unconfigured, steps: []step{{"", "nothing is real."}, list}},
	{name: "no-color", title: "NO_COLOR is set", where: "Operations", word: "2 of 500", env: "NO_COLOR",
		steps: []step{list, {down, "2 of 500"}}},
	{name: "no-color-question", title: "A question while NO_COLOR is set", where: "› Documents", word: "[ No ]",
		env: "NO_COLOR", steps: then(toDocuments, step{"x", "[ No ]"})},
	{name: "plain", title: "Plain mode begins", word: "plain mode", plain: true, where: "SANDBOX",
		steps: []step{{"", "On call"}, {"", "help:"}}},
	{name: "contexts", title: "Going to another context", where: "Operations", word: "ctx", more: secondPerson,
		steps: []step{list, {":", "╭─ Commands"}, {"ctx", "ctx sandbox"}}},
	{name: "help-documents", title: "Help of documents", where: "› Documents", word: "╭─ Help",
		steps: then(toDocuments, step{"?", "╭─ Help"})},
	{name: "help-events", title: "Help of events", where: "› Events", word: "╭─ Help",
		steps: []step{list, {"7", "› Events"}, {"?", "╭─ Help"}}},
	{name: "help-oncall", title: "Help of the page on call", where: "› On call", word: "╭─ Help",
		steps: []step{list, {"B", "› On call"}, {"?", "╭─ Help"}}},
}

var (
	viewer = api.Actor{Name: "vera", Role: api.Viewer, Via: "ssh", From: "10.1.2.3", UID: "SHA256:abc", Host: "desk",
		At: "10.9.8.7:2222", Login: "vera"}
)

// patient lets calls wait for longer than a minute.
const patient = `[limits]
max_wait = "90s"
`

// readOnly is a context without writes.
const readOnly = `default_context = "desk"
[contexts.desk]
sandbox = true
read_only = true
`

// happening is an event before a picture.
type happening = func(ctx context.Context, a *app.App, ids []string) error

// faults makes the built-in service faulty, and then lets more happen.
func faults(spec string, more ...happening) happening {
	return func(ctx context.Context, a *app.App, ids []string) error {
		if err := misbehave(a, spec); err != nil {
			return err
		}
		for _, f := range more {
			if err := f(ctx, a, ids); err != nil {
				return err
			}
		}
		return nil
	}
}

// misbehave sets the faults of the built-in service.
func misbehave(a *app.App, spec string) error {
	f, err := faulty.ParseFaults(spec)
	if err == nil {
		a.Sandbox.Handler().(*faulty.Injector).SetFaults(f)
	}
	return err
}

// foreignLogin simulates a login by another client; a call then meets the dead pair.
func foreignLogin(ctx context.Context, a *app.App, _ []string) error {
	if err := faulty.Of(a.Sandbox).ForeignLogin(ctx); err != nil {
		return err
	}
	// fails if the next login is refused
	_, _ = endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 1})
	return nil
}

// unconfigured is a start without a config file.
func unconfigured(_ context.Context, a *app.App, _ []string) error {
	a.Config.Path = ""
	return nil
}

func dropPair(ctx context.Context, a *app.App, _ []string) error { return a.Session.Reset(ctx) }

// useUp uses up the minute's billing calls.
func useUp(ctx context.Context, a *app.App, _ []string) error {
	for range 7 {
		if _, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 1}); err != nil {
			return err
		}
	}
	return nil
}
