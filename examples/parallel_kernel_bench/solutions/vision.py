"""Problems of images and videos: contrastive losses, convolutions, clusters."""

from . import solves


@solves("58_openclip_contrastive_loss")
def contrastive_loss(program, image, text, _scale, _bias, _group):
    """The sigmoid loss of a rank's images and all texts."""
    return program(image, text)


@solves("71_hyena_conv1d_boundary_exchange")
def conv1d_boundary(program, x, weight, _group):
    """A convolution of each channel, of 7 taps, over a sequence that is split in zigzag."""
    channels = x.shape[1]
    return program(x.view(channels, 2, -1), weight).view(x.shape)


@solves("76_opensora_conv3d_allreduce")
def conv3d(program, x, weight, bias, *_):
    """A convolution of 3 x 3 x 3 taps: each rank has some of the channels."""
    time, height, width = (size - 2 for size in x.shape[2:])
    return program(x[0], weight.flatten(2), bias).view(1, -1, time, height, width)


@solves("80_dinov2_distributed_sinkhorn_knopp")
def sinkhorn_knopp(program, output, _temperature, count, _iterations, _group):
    """Three iterations that make the sums of rows and of columns equal."""
    return program(output, count)


@solves("87_conv2d_boundary_exchange", lambda ranks: {"D": ranks, "H": 128 // max(1, ranks // 2)})
def conv2d_boundary(program, x, weight, bias, _stride, _padding, _group):
    """A convolution of 3 x 3 taps: each rank has some rows of an image."""
    return program(x[0], weight, bias).view(x.shape)
