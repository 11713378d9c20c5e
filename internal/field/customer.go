package field

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

// Customers are the fields of a customer that lists show.
var Customers = New(
	Field[api.Customer]{Name: "name", JSON: "name", Kind: Text, About: "a part of the name", Example: "name:acme",
		Sortable: true,
		Column:   Column{Min: 24, Flex: 3}, Text: api.Customer.DisplayName},
	Field[api.Customer]{Name: "type", Aliases: []string{"kind"}, JSON: "type", Kind: Code,
		About: "individual or corporate", Example: "type:corporate",
		Sortable: true, Column: Column{Min: 10, HidePriority: 1},
		Text: func(c api.Customer) untrusted.Text { return c.Type }},
	Field[api.Customer]{Name: "status", JSON: "status", Kind: Code, Status: true, About: "the service's status word",
		Example: "status:NEW", Sortable: true,
		Column: Column{Min: 12}, Text: func(c api.Customer) untrusted.Text { return c.Status }},
	Field[api.Customer]{Name: "cuid", Aliases: []string{"id"}, JSON: "cuid", Kind: ID,
		About:   "the customer's identifier, or its beginning",
		Example: "cuid:DqCsgSE", Column: Column{Min: 13, Max: 26, HidePriority: 5, CutMiddle: true},
		Text: func(c api.Customer) untrusted.Text { return c.CUID }},
	Field[api.Customer]{Name: "created", JSON: "createdAt", Kind: Time, About: "when it was created",
		Example:  "created<30d",
		Sortable: true,
		Column:   Column{Min: 16, HidePriority: 4, Dim: true}, Time: func(c api.Customer) api.Time { return c.CreatedAt }},
	Field[api.Customer]{Name: "updated", JSON: "updatedAt", Kind: Time, About: "when it last changed",
		Example: "updated<2d",
		Column:  Column{Min: 16, HidePriority: 3, Dim: true}, Time: func(c api.Customer) api.Time { return c.UpdatedAt }},
)

// Documents are the fields of a document that is attached to an operation.
var Documents = New(
	Field[api.Document]{Name: "id", Aliases: []string{"guid"}, JSON: "guid", Kind: ID,
		About: "the document's identifier, or its beginning", Example: "id:ba464e45",
		Text: func(d api.Document) untrusted.Text { return d.GUID }},
	Field[api.Document]{Name: "name", Aliases: []string{"file"}, JSON: "fileName", Kind: Text,
		About: "a part of the file's name", Example: "name:invoice", Sortable: true,
		Column: Column{Min: 14, Flex: 3, CutMiddle: true},
		Text:   func(d api.Document) untrusted.Text { return d.FileName }},
	Field[api.Document]{Name: "type", JSON: "docType", Kind: Code, About: "the kind of document", Example: "type:INVOICE",
		Sortable: true, Column: Column{Min: 18, Max: 24, Flex: 1, HidePriority: 2, Dim: true},
		Text: func(d api.Document) untrusted.Text { return d.DocType }},
	Field[api.Document]{Name: "media", JSON: "mime", Kind: Code, About: "the media type", Example: "media:application/pdf",
		Column: Column{Title: "media type", Min: 15, Max: 30, Flex: 1, HidePriority: 4, Dim: true},
		Text:   func(d api.Document) untrusted.Text { return d.MIME }},
	Field[api.Document]{Name: "size", JSON: "size", Kind: Count, Bytes: true, About: "bytes", Example: "size>100000",
		Sortable: true, Column: Column{Min: 8},
		Count: func(d api.Document) int { return int(d.Size) }},
	Field[api.Document]{Name: "created", JSON: "createAt", Kind: Time, About: "when it was uploaded",
		Example: "created>2026-01-01", Sortable: true, Column: Column{Min: 16, HidePriority: 3, Dim: true},
		Time: func(d api.Document) api.Time { return d.CreateAt }},
	Field[api.Document]{Name: "locked", JSON: "isLock", Kind: Lock, About: "it cannot be removed",
		Column: Column{Title: "lock", Min: 8},
		Lock:   func(d api.Document) api.Lock { return d.Lock }},
	Field[api.Document]{Name: "description", JSON: "info", Kind: Text, About: "a part of the description",
		Example: "description:signed", Column: Column{Min: 11, Flex: 2, HidePriority: 5, Dim: true},
		Text: func(d api.Document) untrusted.Text { return d.Info }},
)

// Files are the fields of a file in a customer's store.
var Files = New(
	Field[api.CustomerFile]{Name: "name", Aliases: []string{"file"}, JSON: "fileName", Kind: Text, Sortable: true,
		About: "a part of the file's name", Example: "name:passport",
		Column: Column{Min: 30, Flex: 3, CutMiddle: true}, Text: api.CustomerFile.Title},
	Field[api.CustomerFile]{Name: "type", JSON: "type", Kind: Code, Sortable: true, About: "the kind of document",
		Example: "type:PASSPORT",
		Column:  Column{Min: 16, Max: 24, Flex: 1, HidePriority: 2},
		Text:    func(f api.CustomerFile) untrusted.Text { return f.Type }},
	Field[api.CustomerFile]{Name: "media", JSON: "mime", Kind: Code, About: "the media type", Example: "media:image/png",
		Column: Column{Title: "media type", Min: 12, Max: 26, HidePriority: 7},
		Text:   func(f api.CustomerFile) untrusted.Text { return f.MIME }},
	Field[api.CustomerFile]{Name: "size", JSON: "size", Kind: Count, Bytes: true, Sortable: true, About: "bytes",
		Example: "size>100000",
		Column:  Column{Min: 10}, Count: func(f api.CustomerFile) int { return int(f.Size) }},
	Field[api.CustomerFile]{Name: "created", JSON: "createdAt", Kind: Time, Sortable: true, About: "when it was uploaded",
		Example: "created<30d",
		Column:  Column{Min: 16, HidePriority: 4, Dim: true},
		Time:    api.CustomerFile.Made},
	Field[api.CustomerFile]{Name: "lock", JSON: "isLock", Kind: Lock,
		About: "it cannot be deleted: yes, no, or ? where the service does not say", Example: "lock:yes",
		Column: Column{Min: 8}, Lock: api.CustomerFile.Lock},
	Field[api.CustomerFile]{Name: "state", JSON: "status", Kind: Code, Sortable: true,
		About: "the service's word for its state", Example: "state:NEW",
		Column: Column{Min: 8, HidePriority: 6}, Text: func(f api.CustomerFile) untrusted.Text { return f.Status }},
	Field[api.CustomerFile]{Name: "description", JSON: "info", Kind: Text, About: "a part of the description",
		Example: "description:signed",
		Text:    func(f api.CustomerFile) untrusted.Text { return f.Info }},
	Field[api.CustomerFile]{Name: "id", JSON: "id", Kind: ID, About: "the file's identifier, or its beginning",
		Example: "id:ba464e45",
		Column:  Column{Min: 13, Max: 36, HidePriority: 5, CutMiddle: true},
		Text:    func(f api.CustomerFile) untrusted.Text { return f.ID }},
)

// IsTime reports whether a path in an operation's record, including its documents, holds a time.
func IsTime(path string) bool {
	f, rest, ok := Operations.at(path)
	if _, member, in := cutItem(path); in {
		d, after, found := Documents.at(member)
		return found && after == "" && d.Kind == Time
	}
	return ok && rest == "" && f.Kind == Time
}

// PathLabel is the name of a path in an operation's record, including its documents: "documents[g-1].locked" for
// "documents[g-1].isLock".
func PathLabel(path string) string {
	label := Operations.Label(path)
	if head, rest, ok := cutItem(label); ok {
		return head + "." + Documents.Label(rest)
	}
	return label
}
