package recordlist

import (
	"opdeck/ui/list"
	"opdeck/ui/theme"
)

// statusSigns are the signs of Standing.
func statusSigns() []list.Sign {
	var out []list.Sign
	for _, s := range []struct{ word, says string }{{"NEW", "not reviewed yet"}, {"VERIFY",
		"the service has no result yet"}, {"ACCEPT", "accepted"}, {"REJECT", "rejected or banned"}} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Status(s.word).Sign },
			Says: "status: " + s.says})
	}
	return append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Unknown },
		Says: "unknown status"})
}
