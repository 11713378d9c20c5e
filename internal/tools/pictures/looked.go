package main

import "strings"

// looked are states of screens that no document shows: reviewers look at them with -sizes.
var looked = []scene{
	{name: "column", title: "The column that s sorts by", where: "Operations", word: "by status",
		steps: []step{list, {right + right + "s", "by status"}}},
	{name: "marks", title: "Marked rows", where: "Operations", word: "2 marked",
		steps: []step{list, {" ", "1 marked"}, {down + " ", "2 marked"}}},
	{name: "sort", title: "The menu of orders", where: "Operations", word: "created, reversed",
		steps: []step{list, {"s", "╭─ Sort by"}}},
	{name: "views", title: "The menu of views", where: "Operations", word: "save this as",
		steps: []step{list, {"v", "stuck for two days"}}},
	{name: "view-saved", title: "A view is saved under a name", where: "Operations", word: "esc cancel",
		steps: []step{list, {"v", "stuck for two days"}, {"save" + enter, "esc cancel"}}},
	{name: "columns", title: "The chooser of columns", where: "Operations", word: "space show or hide",
		steps: []step{list, {"c", "space show or hide"}}},
	{name: "by-customer", title: "Totals by customer and currency", where: "Operations", word: "by customer",
		steps: toTotals("T by type", "T by customer", "T by counterparty")},
	{name: "by-day", title: "Totals by day", where: "Operations", word: "by day",
		steps: toTotals("T by type", "T by customer", "T by counterparty", "T by day", "T close")},
	{name: "within", title: "The second grouping of totals", where: "Operations", word: "one grouping only",
		steps: then(toTotals(), step{".", "╭─ Split each group by"})},
	{name: "focus", title: "The cursor in the totals", where: "Operations", word: "enter filter by it",
		steps: then(toTotals(), step{tab, "enter filter by it"}, step{down, "2 of 8"})},
	{name: "nothing", title: "A filter that nothing matches", where: "Operations", word: "clears it",
		steps: []step{list, {"/", "esc cancel"}, {"customer:nobody" + enter, "esc clears it"}}},
	{name: "mistake", title: "A mistake in a filter", where: "Operations", word: "Did you mean",
		steps: []step{list, {"/", "esc cancel"}, {"statu:PENDING", "Did you mean"}}},
	{name: "parent", title: "The cursor on a child operation", where: "› Operation", word: "enter open",
		steps: []step{list, {"/", "esc cancel"}, {"type:EXCHANGE status:PROCESSING customer:ราตรี" + enter, "match"},
			{enter, "next link"}, {"H", "enter open"}}},
	{name: "document", title: "The page of a document", where: "› Document invoice.pdf", word: "saves it to a file",
		steps: then(toDocuments, step{enter, "saves it to a file"})},
	{name: "locked", title: "A locked document", where: "› Documents", word: "Locked",
		steps: then(toDocuments, step{down + down + "x", "╭─ Locked"})},
	{name: "no-documents", title: "An operation without documents", where: "› Documents", word: "u uploads",
		steps: []step{list, {"/", "esc cancel"}, {"docs=0 status:PENDING" + enter, "match"},
			{"d", "No document is attached"}}},
	{name: "upload", title: "The form of an upload, with what a path can go on with", where: "› Documents", word: "hosts",
		steps: then(toDocuments, step{"u", "╭─ Upload"}, step{"/etc/hos" + tab, "  hosts"})},
	{name: "attach-more", title: "The customer's files to attach, the first page of several", where: "› Documents",
		word: "20 of 52 files read", more: smallPages, steps: then(toDocuments, step{"a", "╭─ Attach"},
			step{strings.Repeat(down, 11), "20 of 52 files read"})},
	{name: "attach", title: "The customer's files to attach", where: "› Documents", word: "more",
		steps: then(toDocuments, step{"a", "╭─ Attach"})},
	{name: "json", title: "An operation as the service sent it", where: "Operations", word: "opid",
		steps: []step{list, {"J", "opid"}}},
	{name: "opener", title: "What is known of something typed", where: "Operations", word: "62387c",
		steps: []step{list, {"o", "╭─ Open an operation"}, {"harb", "237f91…8bf1b4      796.09 USD  SUCCESS"}}},
	{name: "export", title: "The form of an export", where: "Operations", word: "esc cancel",
		steps: []step{list, {"e", "╭─ Export"}}},
}

// toTotals opens the totals and presses the key again for each of next.
func toTotals(next ...string) []step {
	way := []step{list, {"T", "by status"}}
	for _, then := range next {
		way = append(way, step{"T", then})
	}
	return way
}

// smallPages makes the service return few records per page.
const smallPages = "[service]\nlist_page_size = 10\n"
