package approvals

import (
	"time"

	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/index/filter"
)

// language is the filter language over requests; now says which have lapsed.
func language(now func() time.Time) *filter.Table[approval.Request] {
	type request = approval.Request
	one := func(f func(request) string) func(request) []string {
		return func(r request) []string { return []string{f(r)} }
	}
	return filter.NewTable(
		filter.Field[request]{Name: "state", Kind: filter.Code, Help: "its state", Example: "state:open",
			Strings: one(func(r request) string { return string(state(r, now())) })},
		filter.Field[request]{Name: "person", Kind: filter.Text, Help: "who requested approval", Example: "person:ana",
			Strings: one(func(r request) string { return r.Requester.Name })},
		filter.Field[request]{Name: "write", Aliases: []string{"act"}, Kind: filter.Text, Help: "the requested write",
			Example: "write:document.remove",
			Strings: one(func(r request) string { return string(r.Act.Kind) })},
		filter.Field[request]{Name: "object", Kind: filter.Code, Help: "the type of object", Example: "object:customer",
			Strings: one(func(r request) string { return r.Act.Object })},
		filter.Field[request]{Name: "id", Kind: filter.Ident, Help: "the object's identifier, or its beginning",
			Example: "id:5b55db86",
			Strings: one(func(r request) string { return r.Act.ID })},
		filter.Field[request]{Name: "asked", Kind: filter.Time, Help: "when approval was requested", Example: "asked<2h",
			Time: func(r request) time.Time { return r.Created }},
		filter.Field[request]{Kind: filter.Free, Help: "contained in any of these fields or in a reason",
			Example: `"free text"`,
			Strings: func(r request) []string {
				return []string{r.ID, string(state(r, now())), r.Requester.Name, string(r.Act.Kind), r.Act.Object, r.Act.ID,
					r.Act.Item, r.Act.Name, r.Act.Reason, r.Comment}
			}})
}
