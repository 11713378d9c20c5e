package session

import (
	"net/http"
	"regexp"
	"strings"

	"opdeck/api/reach"
	"opdeck/api/secret"
)

// faultOf names what came instead of tokens: the service's words first, then the status.
func (a *answer) faultOf(resp *http.Response, raw []byte, of request) reach.Fault {
	if a.outcome == OK {
		return reach.Fault{}
	}
	words := parseErrorAnswer(raw)
	f := reach.Fault{Class: a.class(resp, raw, words, of), Status: a.status, Said: words.words(of.token.Reveal()),
		After: RetryAfter(resp.Header)}
	switch {
	case f.Class == reach.Moved:
		f.Target, f.Said = Elsewhere(resp.Header, of.token), ""
	case a.seen != "":
		f.Said, f.Key = a.seen, a.key
	}
	return f
}

var (
	lockedWords   = regexp.MustCompile(`\b(locked|blocked|lockout)\b`)
	disabledWords = regexp.MustCompile(`\b(disabled|deactivated|suspended|inactive|not enabled|not active|deleted)\b`)
)

func (a *answer) class(resp *http.Response, raw []byte, words errorAnswer, of request) reach.Class {
	code, wanted := words.verdict()
	switch status := reach.OfStatus(a.status); {
	case a.outcome == TwoFactor:
		return reach.TwoFactor
	case a.outcome == Throttled:
		return reach.Throttled
	case a.outcome == Unreadable:
		return reach.Unreadable
	case a.outcome == Refused && of.kind == ByLogin && (a.status == http.StatusLocked || words.matches(lockedWords)):
		return reach.Locked
	case a.outcome == Refused && of.kind == ByLogin && words.matches(disabledWords):
		return reach.Disabled
	case a.outcome == Refused && wanted:
		return reach.Unclear
	case a.outcome == Refused && of.kind == ByLogin && (code == Refused || a.status == http.StatusUnauthorized):
		return reach.Password
	case a.outcome == Refused:
		return reach.Refused
	case status != reach.None:
		return status
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return reach.NoRoute
	case a.status/100 != 2:
		return reach.Refused
	}
	switch body := strings.TrimSpace(string(raw)); {
	case strings.HasPrefix(body, "<"), strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return reach.Page
	case words.object:
		return reach.Unreadable
	}
	return reach.Garbage
}

// hide removes the password from the service's words.
func (a *answer) hide(password secret.Value) {
	if !password.Empty() {
		a.fault.Said = strings.ReplaceAll(a.fault.Said, password.Reveal(), "…")
	}
}
