package session

// whys are the reasons of events in words.
var whys = map[string]string{
	reasonFirst: "there was no pair", reasonDoubtful: "the pair was in doubt", reasonDue: "the pair was due",
	reasonLapsed: "the refresh token was over",
	reasonGone:   "the process that renewed it was gone", reasonRollback: "the store went back",
	reasonRefused:  "the service refused the pair",
	reasonAsked:    "on request",
	string(Copied): "the state folder is a copy, or was moved", string(Restored): "an older state of the store",
	OtherPair: "another pair was in place", OnItsWay: "a new pair was on its way", Expired: "the token was over",
	YoungPair:    "the pair was new",
	Early:        "before its time",
	RouteOnly:    "not authorised for this route",
	BlockRefused: "login and password", BlockTwoFactor: "a two-factor code is demanded",
	BlockUnclear:    "login, password or a missing code",
	BlockUnreadable: "the answer to the login cannot be read",
}

// Why is the reason in words; a reason of a later opdeck stays as it is.
func (e Event) Why() string {
	if words, known := whys[e.Reason]; known {
		return words
	}
	return e.Reason
}

// Why is what the service refused, in words.
func (b Block) Why() string { return Event{Reason: b.Reason}.Why() }
