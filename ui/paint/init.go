package paint

import "opdeck/ui/paint/quiet"

// Bubble Tea is initialised by now and has not asked the terminal anything.
func init() { quiet.Restore() }
