package index

// StockView is a view of the operations that everybody has: a filter and an order under a name, and what it lists.
type StockView struct{ Name, Filter, Sort, About string }

// StockViews returns the views that everybody has. Each is a line of the filter language; days are UTC.
func StockViews() []StockView {
	return []StockView{
		{"waiting for me", "is:waiting", "updated", "your turn: approve, send or finish"},
		{"in doubt", "is:doubt", "updated", "a write has an unknown outcome"},
		{"stuck for two days", "phase:open updated>2d", "updated", "open, without a change for two days"},
		{"changed today", "updated:today", "-updated", "last changed since 00:00 UTC"},
		{"failed today", "phase:failed updated:today", "-updated", "failed, last changed since 00:00 UTC"},
		{"large amounts", "amount>=100000", "-amount", "at least 100,000, in any currency"},
	}
}
