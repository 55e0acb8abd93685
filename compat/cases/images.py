"""Pictures: Pillow, opencv, scikit-image."""

from compat.case import Case, Library

PILLOW = Library(
    "Pillow",
    "pillow",
    "import io\nfrom PIL import Image, ImageDraw, ImageEnhance, ImageFilter, ImageFont, ImagePalette",
    (
        Case(
            "PIL.Image.Image",
            "x = Image.new('RGB', (9, 9), 'red')",
            "x.putpixel((1, 1), (0, 0, 9))",
            "(x.mode, x.size, x.tobytes())",
        ),
        Case(
            "PIL.Image.Image",
            "x = Image.new('P', (4, 4))\nx.putpalette([1, 2, 3])",
            "x.info['k'] = 1",
            "(x.tobytes(), x.getpalette(), x.info)",
            "with a palette",
        ),
        Case(
            "PIL.PngImagePlugin.PngImageFile",
            "b = io.BytesIO()\nImage.new('L', (4, 4)).save(b, 'png')\nx = Image.open(b)",
            "x.putpixel((1, 1), 9)",
            "(x.tobytes(), x.format)",
        ),
        Case(
            "PIL.ImageDraw.ImageDraw",
            "i = Image.new('L', (9, 9))\nx = ImageDraw.Draw(i)",
            "x.line((0, 0, 8, 8), 255)",
            "(i.tobytes(), x._image is i)",
        ),
        Case(
            "PIL.ImageFont.FreeTypeFont",
            "x = ImageFont.load_default(12)",
            "x = ImageFont.load_default(20)",
            "x.getlength('text')",
        ),
        Case(
            "PIL.ImagePalette.ImagePalette",
            "x = ImagePalette.ImagePalette('RGB', bytearray(6))",
            "x.palette[0] = 5",
            "bytes(x.palette)",
        ),
        Case(
            "PIL.ImageEnhance.Contrast",
            "x = ImageEnhance.Contrast(Image.new('L', (2, 2), 5))",
            "x.image.putpixel((0, 0), 9)",
            "x.enhance(1.0).tobytes()",
        ),
        Case(
            "PIL.ImageFilter.Kernel",
            "x = ImageFilter.Kernel((3, 3), range(9))",
            "x = ImageFilter.Kernel((3, 3), [1] * 9)",
            "x.filterargs",
        ),
    ),
)

OPENCV = Library(
    "opencv",
    "opencv-python-headless",
    "import cv2\nimport numpy as np\nI = (np.indices((64, 64)).sum(0) // 8 % 2 * 255).astype('u1')",
    (
        Case("numpy.ndarray", "x = cv2.blur(I, (3, 3))", "_ = cv2.circle(x, (9, 9), 5, 255)", form="an image"),
        Case("cv2.KeyPoint", "x = cv2.KeyPoint(1, 2, 3)", "x.size = 9", "(x.pt, x.size)"),
        Case("cv2.ORB", "x = cv2.ORB_create(10)", "x.setMaxFeatures(20)", "x.getMaxFeatures()"),
        Case("cv2.BFMatcher", "x = cv2.BFMatcher()", "x.add([np.zeros((1, 4), 'f4')])", "len(x.getTrainDescriptors())"),
        Case("cv2.UMat", "x = cv2.UMat(I)", "_ = cv2.circle(x, (9, 9), 5, 255)", "x.get().tolist()"),
        Case("cv2.VideoCapture", "x = cv2.VideoCapture()", "x.setExceptionMode(True)", "x.getExceptionMode()"),
        Case(
            "cv2.KalmanFilter",
            "x = cv2.KalmanFilter(2, 1)",
            "x.statePost = np.ones((2, 1), 'f4')",
            "x.statePost.tolist()",
        ),
        Case("cv2.FileStorage", "x = cv2.FileStorage('f.yml', cv2.FILE_STORAGE_WRITE)", "x.release()", "x.isOpened()"),
    ),
)

SKIMAGE = Library(
    "scikit-image",
    "scikit-image",
    """
import numpy as np
from skimage import measure, transform
from skimage.feature import ORB
I = np.kron(np.eye(4, dtype=int), np.ones((8, 8), int))
""".strip(),
    (
        Case(
            "skimage.transform.AffineTransform",
            "x = transform.AffineTransform(rotation=1)",
            "x.params[0, 2] = 5",
            "x.params.tolist()",
        ),
        Case(
            "skimage.transform.PiecewiseAffineTransform",
            "x = transform.PiecewiseAffineTransform.from_estimate(np.eye(3, 2), np.eye(3, 2) * 2)",
            "x.note = 1",
            "(x(np.eye(3, 2)).tolist(), getattr(x, 'note', 0))",
        ),
        Case(
            "skimage.measure._regionprops.RegionProperties",
            "x = measure.regionprops(measure.label(I))[0]",
            "x = measure.regionprops(measure.label(I[8:]))[0]",
            "float(x.area), x.bbox",
        ),
        Case(
            "skimage.feature.ORB",
            "x = ORB(n_keypoints=5)\nx.detect_and_extract(np.random.default_rng(0).random((64, 64)))",
            "x.keypoints[0] = 1",
            "x.keypoints.tolist()",
        ),
    ),
)
