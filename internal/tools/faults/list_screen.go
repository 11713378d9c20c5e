package main

// screenFaults break the question before a write and the painter.
var screenFaults = []Fault{
	{Name: "early-key-answers", Breaks: "A question takes no key in its first 400 ms.",
		File: "ui/question.go", In: "ui",
		Old: "{ return !q.drawn || q.dialog.early(now) }", New: "{ return !q.drawn }"},
	{Name: "enter-means-yes", Breaks: "Enter answers no unless yes was marked.",
		File: "ui/question.go", In: "ui",
		Old: "case !q.yes:\n\t\treturn q.sayNo()", New: "case !q.yes && q.typed:\n\t\treturn q.sayNo()"},
	{Name: "paste-answers", Breaks: "Pasted text is no answer.",
		File: "ui/question.go", In: "ui",
		Old: "if p.IsText() || p.Burst {\n\t\tq.note", New: "if p.IsText() && !p.Burst {\n\t\tq.note"},
	{Name: "cell-not-compared", Breaks: "Every cell that differs is drawn.",
		File: "ui/paint/screen.go", In: "ui/paint",
		Old: "x+same < is.text && was.cells[x+same].same(&is.cells[x+same]) {",
		New: "x+same < is.text && was.cells[x+same].text == is.cells[x+same].text {"},
	{Name: "scroll-region-off-by-one", Breaks: "A scroll moves the rows of its region and no other.",
		File: "ui/paint/screen.go", In: "ui/paint",
		Old: "ansi.SetTopBottomMargins(top+1, bottom)", New: "ansi.SetTopBottomMargins(top+1, bottom+1)"},
	{Name: "idle-console-reads", Breaks: "A console that nobody touches reads the store once a minute.",
		File: "internal/surface/console/feed.go", In: "internal/tools/bench",
		Old: "readEvery = time.Minute  ", New: "readEvery = time.Second  "},
}
