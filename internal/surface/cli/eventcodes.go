package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api/hook"
	"opdeck/internal/app"
)

// codeJSON is what is known of one numeric code: the word that was seen with it
// ("" while as much speaks for another), how often, and how often another one.
type codeJSON struct {
	Field          string     `json:"field"`
	Code           int64      `json:"code"`
	Word           string     `json:"word"`
	Evidence       int        `json:"evidence"`
	Contradictions int        `json:"contradictions"`
	All            []seenJSON `json:"all"`
}

// seenJSON is one word that was read at the moment of a code; exact counts the
// times when both gave the same moment to the nanosecond.
type seenJSON struct {
	Word   string `json:"word"`
	Count  int    `json:"count"`
	Exact  int    `json:"exact"`
	Sample string `json:"sample_opid"`
}

// codeWord is the word of a code; nothing is decided while as much speaks for
// another one.
func codeWord(m hook.Meaning) string {
	if m.Word == "" {
		return "(undecided)"
	}
	return m.Word.Line(40)
}

// otherWords are the words that contradict the first, with how often each was seen.
func otherWords(m hook.Meaning) string {
	var out []string
	for _, e := range m.All {
		if e.Word != m.Word {
			out = append(out, fmt.Sprintf("%s %d", e.Word.Line(40), e.Count))
		}
	}
	return strings.Join(out, ", ")
}

func (r *root) eventCodes() *cobra.Command {
	return printsList(r, &cobra.Command{Long: "The meaning of the numbers in operation webhooks is not published. What is shown here was seen:\n" +
		"a webhook and a read of the same moment of the same operation. Nothing is guessed."},
		func(ctx context.Context, a *app.App, _ []string, out listOf[codeJSON]) error {
			l, err := a.Learner(ctx)
			if err != nil {
				return err
			}
			known, codes := l.Table(), []codeJSON(nil)
			for _, m := range known {
				code := codeJSON{Field: string(m.Field), Code: m.Code, Word: string(m.Word), Evidence: m.Evidence, Contradictions: m.Contradictions}
				for _, e := range m.All {
					code.All = append(code.All, seenJSON{string(e.Word), e.Count, e.Exact, string(e.Sample)})
				}
				codes = append(codes, code)
			}
			return out.print(codes, codes, rows("FIELD|CODE|WORD|SEEN|AGAINST|OTHER WORDS", known, func(m hook.Meaning) []any {
				return []any{string(m.Field), m.Code, codeWord(m), m.Evidence, m.Contradictions, otherWords(m)}
			}))
		})
}
