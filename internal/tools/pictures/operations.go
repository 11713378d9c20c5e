package main

// Keys that open a customer in the list of all, and the customer's files.
var (
	toFiles   = then(toCustomer, step{"F", "52 files"})
	toReplace = then(toDocuments, step{"R", "╭─ Replace"}, step{"{dir}/note.txt" + tab, "text/plain"},
		step{enter + enter + enter, "[ No ]"})
)

// customerOf opens the verification of the customer that a filter finds.
func customerOf(filter, shows string, more ...step) []step {
	return then(then([]step{list, {"K", "20 customers"}, {"/", "esc cancel"}, {filter + enter, "of 20 read"},
		{enter, shows}}), more...)
}

// lookedOperations are the states of operations, documents and customers.
var lookedOperations = []scene{
	{name: "preview-off", title: "The list without the preview beside it", w: 160, h: 45, where: "Operations",
		word: "62387c…50c0b8", steps: []step{list, {"|", "62387c…50c0b8"}}},
	{name: "sideways", title: "Columns that scrolled in", where: "Operations", word: "‹",
		steps: []step{list, {right + right + right + right + right + right + right + right + right + right, "‹"}}},
	{name: "empty", title: "An index that nothing was read into", first: true, where: "Operations",
		word: "nothing was read yet", steps: []step{{"", "nothing was read yet"}, {"?", "╭─ Help"},
			{esc, "nothing was read yet"}}},
	{name: "begun", title: "The first page of the first read", first: true, where: "Operations",
		word:  "read so far: 100 operations",
		steps: []step{{"", "nothing was read yet"}, {"r", "read so far: 100 operations"}}},
	{name: "by-type", title: "Totals by type", where: "Operations", word: "WITHDRAW",
		steps: toTotals("T by type", "T by customer")},
	{name: "by-counterparty", title: "Totals by counterparty", where: "Operations", word: "by counterparty",
		steps: toTotals("T by type", "T by customer", "T by counterparty", "T by day")},
	{name: "within-status", title: "Totals by type, each split by status", where: "Operations",
		word: "each split by status", steps: then(toTotals("T by type", "T by customer"),
			step{".", "╭─ Split each group by"}, step{down + enter, "each split by status"})},
	{name: "child", title: "A child operation", where: "› Operation", word: "hidden from the customer",
		steps: []step{list, {"/", "esc cancel"}, {"type:EXCHANGE status:PROCESSING customer:ราตรี" + enter, "match"},
			{enter, "next link"}, {"H", "enter open"}, {enter, "Operation 6973"}}},
	{name: "removed", title: "A document was removed", where: "› Documents", word: "To restore it: z", steps: removed},
	{name: "files", title: "A customer's files", where: "› Files", word: "1 of", steps: toFiles},
	{name: "file-delete", title: "The question before a file is deleted for good", where: "› Files", word: "[ No ]",
		steps: then(toFiles, step{down + "x", "[ No ]"})},
	{name: "replace", title: "What a replacement changes", where: "› Documents", word: "→ note.txt", steps: toReplace},
	{name: "replace-form", title: "The form of a replacement", where: "› Documents", word: "OPERATION_DOCUMENT",
		steps: then(toDocuments, step{"R", "╭─ Replace"})},
	{name: "refused", before: refuseUploads, title: "A form that came back", where: "› Documents", word: "Upload refused",
		steps: then(toDocuments, step{"u", "╭─ Upload"}, step{"{dir}/note.txt" + tab, "text/plain"},
			step{enter + enter + enter, "[ No ]"}, step{"y", "refused"})},
	{name: "typed", title: "The typed question of a production context", before: production, where: "› Documents",
		word: "Type", steps: then(toDocuments, step{"x", "Type"})},
	{name: "production", title: "The header of a production context", before: production, where: "Operations",
		word: "PRODUCTION", steps: []step{list, {down, "2 of 500"}}},
	{name: "second", title: "A question whose answer waits for a second person", more: secondPerson, where: "› Documents",
		word: "[ No ]", steps: then(toDocuments, step{"x", "Reason"}, step{"sent by the wrong customer" + enter, "[ No ]"})},
	{name: "difference", title: "What changed from one state to the next", where: "› History", word: "2 changes",
		steps: then(removed, step{"2", "› Operation"}, step{"h", "2 states"}, step{enter, "before"})},
	{name: "customer-verify", title: "A customer whom the service still looks at", where: "Tallinn", word: "VERIFY",
		steps: customerOf("Tallinn", "Next: ")},
	{name: "customer-rejected", title: "A customer whom the service rejected", where: "שירה", word: "REJECT",
		steps: customerOf("status:REJECT", "Verification")},
	{name: "customer-new", title: "A customer without a verification", where: "Customers › ", word: "NEW",
		steps: customerOf("status:NEW", "Next: ")},
	{name: "customer-outstanding", title: "A customer with outstanding sets", where: "Tallinn", word: "PROOF_OF_RESIDENCE",
		steps: customerOf("Tallinn", "Next: ", step{"S", "╭─ Apply share token"},
			step{"demo-corporate-outstanding-1" + enter, "[ No ]"}, step{"y", "PROOF_OF_RESIDENCE"})},
	{name: "share", title: "The form of a share token", where: "Tallinn", word: "╭─ Apply share token",
		steps: customerOf("Tallinn", "Next: ", step{"S", "╭─ Apply share token"})},
	{name: "link", title: "A verification link", where: "Tallinn", word: "expires in",
		steps: customerOf("Tallinn", "Next: ", step{"l", "[ No ]"}, step{"y", "expires in"})},
	{name: "customers-filter", title: "Customers by their status", where: "› Customers", word: "2 customers",
		steps: []step{list, {"K", "20 customers"}, {"/", "esc cancel"}, {"status:VERIFY" + enter, "of 20 read"}}},
	{name: "palette-typed", title: "The palette with something typed", where: "Operations", word: "Ledger",
		steps: []step{list, {":", "╭─ Commands"}, {"ledger", "customer DVb6"}}},
	{name: "approval", title: "A write that waits for a second person", more: secondPerson, before: request,
		where: "Approv", word: "remove invoice.pdf", steps: []step{list, {"8", "› Audit"}, {"Q", "remove invoice.pdf"}}},
	{name: "approve", title: "The second person's question", more: secondPerson, before: request, where: "Approv",
		word: "[ No ]", steps: []step{list, {"8", "› Audit"}, {"Q", "1 approval waits"}, {"+", "[ No ]"}}},
}
