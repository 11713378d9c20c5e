//go:build linux

package e2e

import "testing"

// TestTour does the eight tasks of the tour with the real keys, at the smallest usual
// window. Each task says itself that it is done.
func TestTour(t *testing.T) {
	t.Parallel()
	x := start(t, 80, 24, t.TempDir(), nil, "--still")
	x.shows("SANDBOX", "500 operations", "1 of 500")
	tour := func(offers string) {
		t.Helper()
		x.press(":").shows("Commands").types("tour").shows("eight tasks in five minutes").press(enter).shows("─ Tour ─", offers).press(enter).gone("─ Tour ─")
	}
	tour("Start the tour")
	x.shows("Tour 1 of 8").press(enter)
	x.shows("Tour 2 of 8").press("1").shows("500 operations").press("/").types("status:PENDING").press(enter)

	x.shows("Tour 3 of 8", "match").press(home, "d").shows("3 documents", "Tour 3 of 8")
	x.press("x").armed("Remove invoice.pdf").press(pgdown).armed("operation status").press("y").shows("Removed invoice.pdf")
	x.press("z").armed("Restore invoice.pdf").press(pgdown).armed("operation status").press("y")

	x.shows("Tour 4 of 8").press(":").shows("Commands").types("tallinn").shows("Tallinn Tools OÜ").press(enter)
	x.shows("Verification", "Next:").press("S").shows("Apply share token", "demo-corporate-ok-1").types("demo-corporate-ok-1").confirms("[ No ]")
	x.armed().press("y")

	x.shows("Tour 5 of 8")
	tour("log in to this account")
	x.shows("Another client has logged in").press("1").shows("match").press("r").press("6").shows("Another client log")

	x.shows("Tour 6 of 8").press("1").shows("match", "Tour 6 of 8").press("T")

	x.shows("Tour 7 of 8")
	tour("lose the answer")
	x.shows("will be lost").press(home, "d").shows("3 documents").press("x").armed("Remove invoice.pdf").press(pgdown).armed("operation status").press("y")

	x.shows("Tour 8 of 8").press(esc, "8").shows("document.remove", "Tour 8 of 8").press(enter)
	x.shows("The tour is done").gone("Tour 8 of 8").quit()
}
