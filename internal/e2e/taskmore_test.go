//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
)

// tasks are all that people tried: of the first trial with ten more, of the second trial, and of our own.
var tasks = slices.Concat(firstTasks, secondTasks, ownTasks)

// secondTasks are those of the second trial that the first one did not have.
var secondTasks = []task{
	{user: "newcomer", want: "which screens there are, at the first start", do: func(h *hands) {
		h.until("the line that names the screens", func(string) bool {
			return strings.Contains(h.screen(), "1 Ops  2 Operation  3 Docs  4 Compl.  5 Limits  6 Session  7 Events  8 Audit")
		})
	}},
	{user: "operator", want: "find by a status word as shown (`pend`)", often: true, do: func(h *hands) {
		h.press("/").types("pend").shows("1 of ", "PENDING").press(enter).matches(`\d+ operations match`).gone("SUCCESS")
	}},
	{user: "operator", want: "find by the payment type as shown (`swift`)", do: func(h *hands) {
		h.press("/").types("swift").press(enter).matches(`\d+ operations match`)
	}},
	{user: "operator", want: "find a payment by the digits of its amount", often: true, do: func(h *hands) {
		o := h.thousands()
		h.press("/").types(o.SourceAmount.Sum.Units).press(enter).matches(`match`).shows(o.shown())
	}},
	{user: "operator", want: "find a payment by its amount, typed as the list shows it (`1,682.00`)", do: func(h *hands) {
		o := h.thousands()
		h.press("/").types(o.shown()).shows("is the amount").press(enter).matches(`match`).shows(o.shown())
	}},
	{user: "analyst", want: "by a field, as shown (`amount:1,682.00`)", do: func(h *hands) {
		o := h.thousands()
		h.press("/").types("amount:" + o.shown()).press(enter).matches(`match`).shows(o.shown())
	}},
	{user: "operator", want: "by amount and day", do: func(h *hands) {
		o := h.thousands()
		h.press("/").types(o.SourceAmount.Sum.Units+" "+o.CreatedAt[:10]).press(enter).matches(`match`).shows(o.shown(), o.CreatedAt[:10])
	}},
	{user: "operator", want: "by a name in plain letters (`jose` for José)", often: true, do: func(h *hands) {
		h.press("/").types("jose").press(enter).matches(`match`).shows("José")
	}},
	{user: "operator", want: "by the id as a list shows it, in the filter", do: func(h *hands) {
		o := h.operations()[7]
		h.press("/").types(o.Opid[:6]).press(enter).shows("1 operation matches")
	}},
	{user: "operator", want: "by its day (`2026-11-22`)", do: func(h *hands) {
		o := h.operations()[9]
		h.press("/").types(o.CreatedAt[:10]).press(enter).matches(`match`).shows(o.CreatedAt[:10])
	}},
	{user: "operator", want: "what is stuck for two days", do: func(h *hands) {
		h.press("v").shows("stuck for two days").types("stuck").press(enter).shows("view stuck for two days")
	}},
	{user: "analyst", want: "two marked operations as JSON", do: func(h *hands) {
		h.press(" ", " ").shows("2 marked").press("Y").shows("as JSON")
	}},
	{user: "analyst", want: "the service's report", held: "TestReport"},
	{user: "operator", want: "hand a case over: a note for colleagues (pasted)", do: func(h *hands) {
		h.press(enter).shows("reference").press("N").shows("For colleagues").pastes("call the bank back before noon").confirms("Note saved.")
	}},
	{user: "analyst", want: "what changed today", do: func(h *hands) {
		h.press("v").shows("changed today").types("changed").press(enter).shows("view changed today")
	}},
	{user: "operator", want: "paste a text of several lines into a form", do: func(h *hands) {
		h.press(enter).shows("reference").press("N").shows("For colleagues")
		h.begins()
		h.pastes("the bank asks\nfor the contract").shows("the bank asks for the contract").confirms("Note saved.")
	}},
	{user: "operator", want: "paste a list of ids and see those operations", do: func(h *hands) {
		all := h.operations()
		h.press("/").pastes(all[3].Opid + "\n" + all[8].Opid + "\n" + all[12].Opid).press(enter).shows("3 operations match")
	}},
	{user: "operator", want: "another filter after one", do: func(h *hands) {
		h.press("/").types("pend").press(enter).shows("match")
		h.begins()
		h.press("/").types("swift").press(enter).shows("/ swift")
	}},
	{user: "operator", want: "a command key on a Cyrillic layout (`в` for `d`)", do: func(h *hands) {
		h.press("в").shows("1 of 3")
	}},
	{user: "all", want: "resize in a question", held: "TestResizes"},
	{user: "all", want: "a light theme, kept for the next time", do: func(h *hands) {
		h.press(":").shows("Commands").types("theme light").press(enter).gone("Commands")
	}},
	{user: "operator", want: "over SSH: ask a second person, approve, send what was approved", held: "TestSecondPerson"},
	{user: "operator", want: "over SSH: copy an id, the refused export", held: "TestCopyInTmux, TestExportsOverSSHAreCommands"},
	{user: "on call", want: "which colleagues are connected, where and since when", do: func(h *hands) {
		other := h.console(80, 24)
		other.press("5").shows("billing")
		h.begins()
		h.press("6").shows("People").matches(`\S+ +\S+ +limits +since now`)
		other.quit()
	}},
	{user: "operator", want: "a write without a known outcome", held: "TestOutcomes"},
	{user: "operator", want: "out of a filter again", do: func(h *hands) {
		h.press("/").types("pend").press(enter).shows("match")
		h.begins()
		h.press(esc).shows("120 operations").gone(" new above")
	}},
	{user: "on call", want: "another context", do: func(h *hands) {
		h.press(":").shows("Commands").types("ctx all").press(enter).shows(" all · ", "120 operations", "PENDING").matches(`access \d`)
	}},
	{user: "operator", want: "a viewer tries to remove a document", settings: `role = "viewer"`, do: func(h *hands) {
		h.press("d").shows("1 of 3")
		h.begins()
		h.press("x").shows("Your role (viewer) may not")
	}},
	{user: "operator", want: "what became of my write", do: func(h *hands) {
		h.press("d").shows("1 of 3").press("x").armed("Remove invoice.pdf").press("y").shows("Removed invoice.pdf")
		h.begins()
		h.press("8").shows("document.remove").press(enter).shows("invoice.pdf")
	}},
	{user: "operator", want: "share and link for a customer who is accepted, by mistake", held: "TestShareWarnsOfAnAcceptedCustomer"},
	{user: "analyst", want: "`operation list` at 120 columns; `operation get`", held: "TestTablesFit, TestMarkedRecord"},
	{user: "all", want: "every screen at 40x12", held: "TestEverySize"},
}

// ownTasks are those that we added for what is new.
var ownTasks = []task{
	{user: "operator", want: "narrow a name by a currency (`jose eur`)", do: func(h *hands) {
		h.press("/").types("jose eur").press(enter).matches(`match`).shows("José", "EUR")
	}},
	{user: "operator", want: "an id of an e-mail, with dots in the middle, in `o` (pasted)", do: func(h *hands) {
		o := h.operations()[6]
		h.press("o").shows("Open an operation").pastes(o.Opid[:7]+"..."+o.Opid[30:]).shows(o.Opid[:6]).press(enter).shows("Operation", o.Opid)
	}},
	{user: "operator", want: "the amount that somebody says on the phone, in `o`", often: true, do: func(h *hands) {
		o := h.thousands()
		h.press("o").shows("Open an operation").types(o.SourceAmount.Sum.Units).shows(o.Opid[:6]).press(enter).shows("Operation", o.SourceAmount.Sum.CurrencyCode)
	}},
	{user: "analyst", want: "the large amounts, the largest first", do: func(h *hands) {
		h.press("v").shows("large amounts").types("large").press(enter).shows("view large amo")
	}},
	{user: "analyst", want: "the sums of what a search found", do: func(h *hands) {
		h.press("/").types("jose").press(enter).matches(`match`)
		h.begins()
		h.press("T").shows("EUR")
	}},
	{user: "operator", want: "find the operation that a note is about", do: func(h *hands) {
		h.command("note", "add", h.operations()[4].Opid, "the bank wants a contract")
		h.begins()
		h.press("/").types("wants").press(enter).shows("1 operation matches", "the bank wants a contract")
	}},
	{user: "operator", want: "hand a case over: the note, then the id for the chat", do: func(h *hands) {
		h.press(enter).shows("reference").press("N").shows("For colleagues").pastes("please take over").confirms("Note saved.").press("y").shows("clipboard.")
	}},
	{user: "all", want: "a key that the config changes (`document.remove = \"D\"`)", settings: "[keys]\ndocument.remove = \"D\"", do: func(h *hands) {
		h.press("d").shows("1 of 3", "D remove")
		h.begins()
		h.press("D").armed("Remove invoice.pdf").press("n")
	}},
	{user: "operator", want: "what was `10:44` yesterday: a day and a minute as shown (pasted)", do: func(h *hands) {
		o := h.operations()[11]
		h.press("/").pastes(strings.Replace(o.CreatedAt[:16], "T", " ", 1)).press(enter).matches(`match`).shows(o.CreatedAt[11:16])
	}},
	{user: "operator", want: "history of the operation under the cursor, and back", often: true, do: func(h *hands) {
		h.press("h").shows("History").press(esc).shows("120 operations")
	}},
}

// shown is the amount as a list shows it, without its currency.
func (o operation) shown() string {
	units := o.SourceAmount.Sum.Units
	return units[:len(units)-3] + "," + units[len(units)-3:] + "." + fmt.Sprintf("%02d", o.SourceAmount.Sum.Nanos/10_000_000)
}

// thousands is an operation in euros or dollars with an amount of four digits and no cents that no
// other one has.
func (h *hands) thousands() operation {
	h.t.Helper()
	all := h.operations()
	for _, o := range all {
		m := o.SourceAmount.Sum
		if m.Nanos != 0 {
			continue
		}
		same := 0
		for _, other := range all {
			if other.SourceAmount.Sum.Units == m.Units {
				same++
			}
		}
		if same == 1 && len(m.Units) == 4 && (m.CurrencyCode == "EUR" || m.CurrencyCode == "USD") {
			return o
		}
	}
	h.t.Fatal("no operation has such an amount")
	return operation{}
}
