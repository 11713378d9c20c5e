package api

import (
	"strings"

	"opdeck/api/untrusted"
)

// Standing is what a status of a customer, an account or a counterparty's account
// means. The words are complete on the service's webhook pages, which call them
// steps on the way and results; its answers print ACCEPT where one page has ACCEPTED.
type Standing int

// The standings.
const (
	StandingUnknown Standing = iota // a word that the service's pages do not have
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

// Says explains a status that is not a result, as the end of a sentence; "" for others,
// whose words say what they mean or are not known.
func (s Standing) Says() string {
	switch s {
	case StandingNew:
		return "not reviewed yet"
	case StandingUnderWay:
		return "no result yet"
	}
	return ""
}
