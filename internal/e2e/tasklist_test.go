//go:build linux

package e2e

import (
	"strings"
)

var big = [2]int{160, 45}

// firstTasks are those of the first trial, in its order, and behind them ten more.
var firstTasks = []task{
	{user: "operator", want: "open an operation by its pasted id", often: true, do: func(h *hands) {
		op := h.operations()[5]
		h.press("o").shows("Open an operation").pastes(op.Opid).shows(op.Opid[30:]).press(enter).shows("Operation", op.Opid)
	}},
	{user: "operator", want: "open one by the beginning that the list shows", do: func(h *hands) {
		op := h.operations()[5]
		h.press("o").shows("Open an operation").types(op.Opid[:6]).shows(op.Opid[:6]).press(enter).shows("Operation", op.Opid)
	}},
	{user: "analyst", want: "filter by status and amount, live (`status:PENDING amount>1000`)", do: func(h *hands) {
		h.press("/").types("status:PENDING amount>1000").shows("1 of ").press(enter).matches(`\d+ operations? match`)
	}},
	{user: "operator", want: "remove a document, from the list", often: true, do: func(h *hands) {
		h.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
	}},
	{user: "operator", want: "put it back", do: func(h *hands) {
		h.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
		h.begins()
		h.press("z").armed("Restore invoice.pdf").press("y").shows("Restored invoice.pdf.")
	}},
	{user: "operator", want: "learn why a document is locked, and copy the ids", do: func(h *hands) {
		h.onDocument(true)
		h.begins()
		h.press("x").shows("is locked and cannot be removed").insists("y", "clipboard.")
	}},
	{user: "operator", want: "upload a contract and attach it", do: func(h *hands) {
		h.file("contract-b.pdf")
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("u").shows("File on this host").types("contract-b.pdf").press(enter).types("contr").press(down, enter).shows("CONTRACT").press(enter).armed("contract-b.pdf").press("y").shows("4 of 4")
	}},
	{user: "operator", want: "replace a document and keep its type", do: func(h *hands) {
		h.file("c.pdf")
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("R").types("c.pdf").press(enter, enter, enter).armed("with c.pdf?", "OPERATION_DOCUMENT").press("y").shows("Replaced ")
	}},
	{user: "operator", want: "attach a file that the customer has", do: func(h *hands) {
		h.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
		h.begins()
		h.press("a").shows("Attach a file of").press(enter).armed("Attach").press("y").shows("1 of 3")
	}},
	{user: "operator", want: "a removal whose answer is lost", do: func(h *hands) {
		h.faults("drop=remove#1")
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
	}},
	{user: "operator", want: "remove in production", settings: `kind = "production"`, do: func(h *hands) {
		guid := h.operations()[0].Documents[0].GUID
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("x").armed("Remove invoice.pdf")
		for i, r := range guid[len(guid)-4:] {
			h.press(string(r)).shows("of the document id: " + guid[len(guid)-4:][:i+1])
		}
		h.confirms("Removed invoice.pdf")
	}},
	{user: "operator", want: "ask a second person for a removal", settings: `approval = "second_person"`, do: func(h *hands) {
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("x").shows("Reason").press(enter).armed("remove invoice.pdf", "Ask for approval").press("y").shows("A second person must approve this")
	}},
	{user: "operator", want: "KYC: share, what is outstanding, link with its QR code (the token is pasted)", do: func(h *hands) {
		h.verification("CORPORATE")
		h.begins()
		h.press("S").shows("Apply share token").pastes("demo-corporate-outstanding-1").press(enter).armed("Apply this share token").press("y")
		h.shows("Next: Create a link (l)").press("l").armed("Create a verification link").press("y").shows("clipboard.")
	}},
	{user: "operator", want: "find who waits in VERIFY", do: func(h *hands) {
		h.press("K").shows("20 customers").press("/").types("status:VERIFY").shows("1 of 2", "Tallinn Tools", "VERIFY").press(enter).shows("2 customers of 20 read")
	}},
	{user: "operator", want: "all operations of a customer", do: func(h *hands) {
		h.press("4").shows("Verification").press("i").shows("customer:", "match")
	}},
	{user: "operator", want: "upload over SSH: the ready command", held: "TestOverSSHTheCommandIsShown"},
	{user: "analyst", want: "page through the list and come back", at: big, do: func(h *hands) {
		h.press(pgdown, pgdown, "G").shows("120 of 120").press("g").shows("1 of 120")
	}},
	{user: "analyst", want: "sort by amount, and back again", at: big, do: func(h *hands) {
		h.press(right, right, right, right, right, "s").shows("by amount ▼").press("s").shows("by amount ▲")
	}},
	{user: "analyst", want: "totals by status, every currency", often: true, at: big, do: func(h *hands) {
		h.press("T").shows("EUR", "USD")
	}},
	{user: "analyst", want: "keep this filter as a view, and call it", do: func(h *hands) {
		h.press("/").types("currency:EUR").press(enter).shows("match")
		h.begins()
		h.press("v").shows("save this as").types("save").press(enter).shows("Name").types("eur").press(enter).shows("view eur")
	}},
	{user: "analyst", want: "show another column", at: big, do: func(h *hands) {
		h.press("c").shows("Columns").press(end, " ", enter)
	}},
	{user: "analyst", want: "export two marked operations", do: func(h *hands) {
		h.press(" ", " ").shows("2 marked").press("e").shows("Export 2 marked").press(enter).shows("Exported 2 operations to", "operations.csv")
	}},
	{user: "analyst", want: "export the filtered rows", do: func(h *hands) {
		h.press("e").shows("Export 120 operations").press(enter).shows("Exported 120 operations to")
	}},
	{user: "analyst", want: "raw JSON, and a word in it", do: func(h *hands) {
		h.press("J").shows(`"opid"`).press("/").types("nanos").press(enter).shows("nanos")
	}},
	{user: "analyst", want: "what changed in an operation", often: true, do: func(h *hands) {
		h.press("h").shows("History")
	}},
	{user: "analyst", want: "from a parent to its child", do: func(h *hands) {
		h.press("/").types("type:EXCHANGE status:PROCESSING").press(enter).shows("match", "›").press(enter).shows("EXCHANGE", "H shows them")
		h.begins()
		h.press("H").shows("child operations").press(enter).shows("TRANSFER")
	}},
	{user: "analyst", want: "follow events, what codes mean", do: func(h *hands) {
		h.press("7").shows("Events").press("=").shows("codes")
	}},
	{user: "on call", want: "is it healthy, when does it expire", often: true, do: func(h *hands) {
		h.press("6").shows("No fault known.", "access")
	}},
	{user: "on call", want: "who killed the session", do: func(h *hands) {
		if err := h.service.ForeignLogin(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		before := h.asked()
		h.press("r").until("the answer with a new pair", func(string) bool { return h.stats().Logins == 2 && h.asked() > before })
		h.begins()
		h.press("6").shows("another client logged in")
	}},
	{user: "on call", want: "the pair is revoked and the password changed", do: func(h *hands) {
		h.faults("status=login:401")
		if err := h.service.ForeignLogin(h.t.Context()); err != nil {
			h.t.Fatal(err)
		}
		h.press("r").shows("session blocked")
		h.begins()
		h.press("6").matches(`revoked  at \d\d:\d\d`)
	}},
	{user: "on call", want: "are we throttled, when does the next call go", do: func(h *hands) {
		h.press("5").shows("billing", "left")
	}},
	{user: "on call", want: "the cause by command (`opdeck session status`)", held: "`session.txtar`"},
	{user: "on call", want: "`--check`, `doctor`, `limits`", held: "`session.txtar`, `limits.txtar`"},
	{user: "on call", want: "recover a blocked session", do: func(h *hands) {
		h.press("6").shows("generation")
		h.begins()
		h.press("X").armed("Erase").press("y").shows("none")
	}},
	{user: "all", want: "ctrl+z and fg, sizes from 200x60 to 10x3, ctrl+c in a form", held: "TestSuspend, TestResizes, TestSignals"},
	{user: "all", want: "`--plain`, `NO_COLOR`, mono, light, `TERM=dumb`", held: "TestDumbTerminals, TestJourneyPlain"},
	{user: "all", want: "`config init` and `check`, wrong flags, a bad key", held: "`configinit.txtar`, `config.txtar`, `commandline.txtar`"},

	{user: "operator", want: "what a document is, before removing it: type, size, since when", do: func(h *hands) {
		h.press("d").shows("1 of 3").press(enter).shows("application/pdf", "created")
	}},
	{user: "operator", want: "why does this withdrawal hang: the counterparty and its accounts", do: func(h *hands) {
		h.press(enter).shows("reference").press("P").shows("Counterparty")
	}},
	{user: "operator", want: "is there money on the account", do: func(h *hands) {
		h.press(enter).shows("reference").press("A").shows("balance")
	}},
	{user: "operator", want: "look at five operations one after the other", do: func(h *hands) {
		h.press(enter).shows("reference").press(">", ">", ">", ">").shows(h.operations()[4].Opid)
	}},
	{user: "operator", want: "delete a wrong file of a customer", do: func(h *hands) {
		h.command("document", "upload", h.file("wrong.pdf"), "--customer", h.operations()[0].Customer.Cuid, "--type", "PASSPORT", "--yes")
		h.press("4").shows("Verification")
		h.begins()
		h.press("F").shows("17 files", "1 of 17").press("x").armed("Delete wrong.pdf").press("y").shows("16 files")
	}},
	{user: "analyst", want: "from a total to its operations", at: big, do: func(h *hands) {
		h.press("T").shows("amount paid").press("T").shows("EUR paid").press(tab, down, right, enter).shows("match", "status:", "currency:")
	}},
	{user: "analyst", want: "mark ten in a row and read their sum", do: func(h *hands) {
		h.press(" ").shows("1 marked").press(down, down, down, down, down, down, down, down, "m").shows("10 marked").press("T").shows("10 marked operations")
	}},
	{user: "analyst", want: "glance at ten operations without opening one", at: big, do: func(h *hands) {
		h.press(strings.Split(strings.Repeat("j", 9), "")...).shows(h.operations()[9].Opid[:9]) // the preview breaks an id
	}},
	{user: "on call", want: "session, budgets and feed on one page", at: big, do: func(h *hands) {
		h.press("B").shows("the access token is valid until", "calls left", "Events")
	}},
	{user: "on call", want: "back to what I looked at before", do: func(h *hands) {
		h.press("6").shows("generation").press("[").shows("120 operations")
	}},
}

// onDocument opens the documents of the first operation with the cursor on one that is
// locked, or not.
func (h *hands) onDocument(locked bool) {
	h.t.Helper()
	h.press("d").shows("1 of 3")
	for _, d := range h.operations()[0].Documents {
		if d.IsLock == locked {
			return
		}
		h.press(down)
	}
}

// verification opens a customer of a kind who was not shared yet.
func (h *hands) verification(kind string) {
	h.t.Helper()
	h.press("4").shows("Verification", kind)
}
