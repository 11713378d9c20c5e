package paint

import "opdeck/ui/paint/quiet"

// The packages that this one imports are initialised now: Bubble Tea has not
// asked the terminal anything.
func init() { quiet.Restore() }
