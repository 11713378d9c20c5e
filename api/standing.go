package api

import (
	"strings"

	"opdeck/api/untrusted"
)

// Standing is the meaning of a status of a customer, an account or a counterparty's account. The service's webhook
// pages list all words and call them steps and results; its answers use ACCEPT where one page has ACCEPTED.
type Standing int

// The standings.
const (
	StandingUnknown Standing = iota // a word that is not on the service's pages
	StandingNew
	StandingUnderWay // moderation, verification: no result yet
	StandingAccepted
	StandingRejected
	StandingBanned
)

var standings = map[string]Standing{
	"NEW": StandingNew, "MODERATION": StandingUnderWay, "MODERATED": StandingUnderWay, "VERIFY": StandingUnderWay,
	"PROCESSING": StandingUnderWay, "PROGRESS": StandingUnderWay, "ACCEPT": StandingAccepted, "ACCEPTED": StandingAccepted,
	"REJECT": StandingRejected, "REJECTED": StandingRejected, "BANNED": StandingBanned,
}

// StandingOf classifies a status word.
func StandingOf(status untrusted.Text) Standing { return standings[strings.ToUpper(string(status))] }

// Says explains a status that is not a result, as the end of a sentence; "" for results, which explain themselves,
// and for unknown words.
func (s Standing) Says() string {
	switch s {
	case StandingNew:
		return "not reviewed yet"
	case StandingUnderWay:
		return "no result yet"
	}
	return ""
}
