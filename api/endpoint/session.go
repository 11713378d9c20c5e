package endpoint

import (
	"net/http"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
)

var sessionCalls = []*Route{login, refresh, reset}

// The calls of package session and the acts on the session. They have no typed value, because only the session makes
// them.
var (
	login = &Route{Kind: api.ActSessionLogin, Op: "log in", Method: http.MethodPost, Path: session.LoginPath,
		Class: limit.Login,
		Need:  api.MaySession, Write: ofSession(api.ActSessionLogin, "402"),
		Lent: Lending{Instead: "Leave the login out: opdeck keeps the one session of this account and adds the token to " +
			"every call. Another login would end everyone's session."}}
	refresh = &Route{Kind: api.ActSessionRefresh, Op: "refresh", Method: http.MethodGet,
		Path: session.RefreshPath + "{token}", Class: limit.Refresh,
		Need: api.MaySession, Write: ofSession(api.ActSessionRefresh, "401"),
		Lent: Lending{Instead: "Leave the refresh out: opdeck refreshes the tokens before they expire. Another refresh " +
			"would end everyone's session."}}
	reset = &Route{Kind: api.ActSessionReset, Op: "reset the session", Need: api.MaySession,
		Write: ofSession(api.ActSessionReset, "403")}
)

func ofSession(kind api.ActKind, number string) *Write {
	return &Write{Number: number, Rule: api.WriteRule{Kind: kind, Need: api.MaySession}}
}
