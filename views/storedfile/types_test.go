package storedfile

import (
	"fmt"
	"strings"
	"testing"

	"opdeck/api/untrusted"
)

func TestTypeOptions(t *testing.T) {
	var many []untrusted.Text
	for i := range 200 {
		many = append(many, untrusted.Text(fmt.Sprintf("TYPE_%03d", i)))
	}
	for name, c := range map[string]struct {
		first []string
		seen  []untrusted.Text
		want  string
	}{
		"nothing seen":   {nil, nil, "PHOTO INVOICE"},
		"known and seen": {nil, []untrusted.Text{"INVOICE"}, "PHOTO INVOICE(seen)"},
		"new":            {nil, []untrusted.Text{"DEED", "PHOTO"}, "PHOTO(seen) INVOICE DEED(seen, new)"},
		"here first":     {[]string{"DEED"}, []untrusted.Text{"DEED", "INVOICE"}, "DEED(here) PHOTO INVOICE(seen)"},
		"odd":            {nil, []untrusted.Text{"", "a\x1b[2J", "lower", "WITH\nLINE", untrusted.Text(strings.Repeat("X", 65)), "\u202eEVIL"}, "PHOTO INVOICE"},
		"without an end": {nil, many, "PHOTO INVOICE TYPE_000(seen, new)"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			all := TypeOptions(c.first, []string{"PHOTO", "INVOICE"}, c.seen)
			for _, o := range all {
				mark := map[string]string{"": "", "document type used here": "(here)", "seen in answers": "(seen)",
					"seen in answers, not documented": "(seen, new)"}[o.About]
				got = append(got, o.Value+mark)
			}
			if len(all) > 2+mostSeen {
				t.Errorf("%d types", len(all))
			}
			if s := strings.Join(got[:min(len(got), 3)], " "); s != c.want {
				t.Errorf("%s, not %s", s, c.want)
			}
		})
	}
}
