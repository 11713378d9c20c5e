package present

import (
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Look is the look of a status word: never a tone alone.
type Look struct {
	Sign Sign
	Tone Tone
}

// statuses are the known status words of operations with their looks.
var statuses = []struct {
	words []string
	look  Look
}{
	{[]string{"PENDING", "NEW", "CREATED", "WAITING", "DRAFT"}, Look{SignWait, Warn}},
	{[]string{"PROCESSING", "IN_PROGRESS", "RUNNING"}, Look{SignInfo, Info}},
	{[]string{"SUCCESS", "COMPLETED", "DONE", "APPROVED", "ACTIVE"}, Look{SignGood, Good}},
	{[]string{"FAILED", "ERROR", "REJECTED", "DECLINED"}, Look{SignBad, Bad}},
	{[]string{"CANCELED", "CANCELLED", "EXPIRED"}, Look{SignOff, Dim}},
}

// standings are the looks of the status words of customers and accounts; severity orders the words of several
// accounts: the most severe represents all.
var standings = map[api.Standing]struct {
	severity int
	look     Look
}{
	api.StandingAccepted: {1, Look{SignGood, Good}}, api.StandingUnknown: {2, Look{SignUnknown, Plain}},
	api.StandingNew: {3, Look{SignWait, Warn}}, api.StandingUnderWay: {4, Look{SignInfo, Info}},
	api.StandingRejected: {5, Look{SignBad, Bad}}, api.StandingBanned: {6, Look{SignBad, Bad}},
}

// StatusWords groups the status words of operations by look.
func StatusWords() [][]string {
	out := make([][]string, len(statuses))
	for i, s := range statuses {
		out[i] = s.words
	}
	return out
}

// StatusOf is the look of a status word of the service, ignoring case. The service may use other words: an unknown
// word has its own sign and is shown unchanged.
func StatusOf(word untrusted.Text) Look {
	upper := strings.ToUpper(strings.TrimSpace(string(word)))
	for _, s := range statuses {
		if slices.Contains(s.words, upper) {
			return s.look
		}
	}
	return standings[api.StandingOf(untrusted.Text(upper))].look
}

// statusOfAll is the look of a text with several words.
func statusOfAll(words untrusted.Text) Look {
	var out Look
	most := 0
	list := strings.Fields(string(words))
	for _, word := range list {
		if s := standings[api.StandingOf(untrusted.Text(word))]; s.severity > most {
			most, out = s.severity, s.look
		}
	}
	if len(list) == 1 || out.Sign == SignUnknown {
		return StatusOf(words)
	}
	return out
}

// status is a cell with a status word.
func (o Options) status(word untrusted.Text) Cell { return o.statusAs(word, word) }

// statusAs is a cell that says what the status words are, with the look of the most severe.
func (o Options) statusAs(words, says untrusted.Text) Cell {
	if strings.TrimSpace(string(words)) == "" { // with the sign of an unknown one: "–" is that of a canceled one
		return Cell{Text: o.sign(SignUnknown) + "–", Tone: Dim}
	}
	look := statusOfAll(words)
	return Cell{Text: o.sign(look.Sign) + says.Line(60), Tone: look.Tone}
}

// Status is a status word with its meaning, as a fact of a record.
func (o Options) Status(label string, status untrusted.Text) Fact {
	if status == "" {
		return Fact{Label: label, Value: "–", Tone: Dim}
	}
	look, text := StatusOf(status), status.Line(60)
	if means := api.StandingOf(status).Says(); means != "" {
		text += ", " + means
	}
	return Fact{Label: label, Value: o.sign(look.Sign) + text, Tone: look.Tone, Long: true}
}
