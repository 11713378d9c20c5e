package session

// whys words the reasons of events.
var whys = map[string]string{
	reasonFirst: "there were no tokens", reasonDoubtful: "the tokens were possibly revoked",
	reasonDue:    "the tokens were due for a refresh",
	reasonLapsed: "the refresh token had expired",
	reasonGone:   "the process that refreshed them had ended", reasonRollback: "the store returned to an older state",
	reasonRefused:  "the tokens were revoked",
	reasonAsked:    "on request",
	string(Copied): "the state folder is a copy, or was moved", string(Restored): "an older state of the store",
	OtherPair: "newer tokens had replaced these", OnItsWay: "new tokens were on the way", Expired: "the token had expired",
	YoungPair:    "the tokens were new",
	Early:        "before the token expired",
	RouteOnly:    "not authorised for this route",
	BlockRefused: "login and password", BlockTwoFactor: "a two-factor code is required",
	BlockUnclear:    "login, password or a missing code",
	BlockUnreadable: "the answer to the login cannot be read",
}

// Why is the reason in words; an unknown reason is returned unchanged.
func (e Event) Why() string {
	if words, known := whys[e.Reason]; known {
		return words
	}
	return e.Reason
}

// Why says in words what the service refused.
func (b Block) Why() string { return Event{Reason: b.Reason}.Why() }
