// Package layering holds the rules about which package may import which.
package layering
