//go:build !ax_plant

package plant

// On reports whether the fault is planted: never in this build.
func On(string) bool { return false }
