package emit

import "strings"

// breakCode breaks a statement that is too long: after its "=", in a choice ("a ? b : c") or a sum, or at the commas of
// its first call or initialiser. If an argument is too long for a line, breakCode also breaks that argument.
func breakCode(indent int, text string) string {
	if indent+width(text) <= columns {
		return spaced(indent, text)
	}
	if left, right, ok := strings.Cut(text, " = "); ok && !strings.ContainsAny(left, "({") {
		if c, ok := choiceOf(right); ok {
			return c.breakBehind(indent, left)
		}
		if indent+4+width(right) <= columns {
			return spaced(indent, left+" =") + "\n" + spaced(indent+4, right)
		}
		if sum := splitSum(right); len(sum) > 1 {
			column := strings.Repeat(" ", indent+width(left)+len(" = "))
			lines := fillWords(spaced(indent, left+" = "), column, sum)
			return strings.Join(lines, "\n")
		}
	}
	if c, ok := choiceOf(text); ok {
		return strings.Join(c.lines(indent, ""), "\n")
	}
	opening := outermostBracket(text)
	if opening < 0 {
		return spaced(indent, text)
	}
	closing := matching(text, opening)
	head, tail := text[:opening+1], text[closing:]
	args := splitArgs(text[opening+1 : closing])
	return fillArgs(indent, head, args, tail)
}

// spaced returns one indented line.
func spaced(indent int, text string) string { return strings.Repeat(" ", indent) + text }

// fillArgs puts as many arguments on a line as fit. They start after head and align with the first argument. If head is
// longer than four characters, they start on the line below head in two cases. In the first, they do not fit after head. In
// the second, an argument before the last one is too long for a line after head, and starting below takes no more lines.
func fillArgs(indent int, head string, args []string, tail string) string {
	column := indent + width(head)
	if column <= indent+4 {
		return alignArgs(indent, head, args, tail)
	}
	below := func() string { return spaced(indent, head) + "\n" + alignArgs(indent+4, "", args, tail) }
	if !argsFit(column, args, tail) {
		return below()
	}
	aligned := alignArgs(indent, head, args, tail)
	if !breaksEarlier(column, args) {
		return aligned
	}
	if other := below(); strings.Count(aligned, "\n") >= strings.Count(other, "\n") {
		return other
	}
	return aligned
}

// alignArgs puts arguments after head and aligns them with the first one.
func alignArgs(indent int, head string, args []string, tail string) string {
	column := indent + width(head)
	lines := []string{spaced(indent, head)}
	used, first, broken := column, true, false
	for i, arg := range args {
		piece := arg + ","
		if i == len(args)-1 {
			piece = arg + tail
		}
		switch {
		case first:
		case !broken && used+1+width(piece) <= columns:
			lines[len(lines)-1] += " "
			used++
		default:
			lines = append(lines, strings.Repeat(" ", column))
			used = column
		}
		first, broken = false, used+width(piece) > columns
		if broken {
			piece = strings.TrimLeft(breakCode(used, piece), " ")
		}
		lines[len(lines)-1] += piece
		used = width(lastLine(lines[len(lines)-1]))
	}
	return strings.Join(lines, "\n")
}

// argsFit reports whether every argument fits on a line that starts at column, or has brackets in which it can be
// broken.
func argsFit(column int, args []string, tail string) bool {
	for i, arg := range args {
		length := width(arg) + 1
		if i == len(args)-1 {
			length = width(arg) + width(tail)
		}
		if column+length > columns && outermostBracket(arg) < 0 {
			return false
		}
	}
	return true
}

// breaksEarlier reports whether an argument before the last one does not fit on a line that starts at column.
func breaksEarlier(column int, args []string) bool {
	for _, arg := range args[:len(args)-1] {
		if column+width(arg)+1 > columns {
			return true
		}
	}
	return false
}

func lastLine(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }
